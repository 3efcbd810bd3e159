//===- TinyProgram.h - A hand-written program on any small mesh -----------===//
//
// Stage 0 holds an embedding, the last stage holds two layers; every parameter is pulled towards a target that depends
// on its logical index alone, so that all meshes must train the same weights.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/runtime.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace lf::rt::test {

/// vocab 13 padded to 16, hidden 4. Parameters: "embed" [16, 4], columns over tp; in each of two layers "wa", "wb"
/// and "wc" [4, 4], fused as the columns of one tensor of 12, "wo" [4, 4], stored transposed, all with columns over tp;
/// "norm" [4], whole.
class TinyProgram {
public:
  TinyProgram(int32_t pp, int32_t dp, int32_t tp, lf_dtype dtype = LF_F64, bool tied = false);
  const lf_program *get() const { return &program; }
  lf_program program{};
  static constexpr int64_t vocab = 13, seq = 8, global_batch = 4, hidden = 4;
  /// What the step does beside training; for tests of failures.
  static int64_t nan_at_step; ///< 0-based; -1: never
  static int32_t drift_rank;  ///< this rank changes its copy of "norm" in the last step; -1: never
  static int32_t sleep_ms;    ///< a step lasts at least so long

private:
  std::vector<lf_axis> axes;
  std::vector<lf_comm> comms;
  std::vector<lf_param> params;
  std::vector<lf_place> places;
  std::vector<lf_region> regions;
  std::vector<lf_memory> memory;
  std::string plan;
};

/// A folder that vanishes with the test.
class Folder {
public:
  Folder();
  ~Folder();
  std::string operator/(const std::string &name) const { return path + "/" + name; }
  std::string path;
};

/// 16-bit tokens below the vocabulary, a fixed sequence. Returns its path.
std::string write_tokens(const Folder &, int64_t count = 400);
std::string read_file(const std::string &path);
void write_file(const std::string &path, const std::string &bytes);

struct Result {
  int code;
  std::string out, err;
};
/// Runs lf_main in this process and keeps what it prints.
Result run(const TinyProgram &, const std::vector<std::string> &arguments);

/// One member of every line of a metrics file.
std::vector<double> column(const std::string &metrics, const std::string &name);
/// name -> values of a safetensors file of float32 or float64.
std::map<std::string, std::vector<double>> tensors(const std::string &path);

} // namespace lf::rt::test
