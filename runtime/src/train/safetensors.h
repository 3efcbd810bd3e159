//===- safetensors.h - The file format of weights -------------------------===//
//
// u64 header length, a JSON header, then the tensors without gaps. A reader trusts nothing before it was checked; the
// writer streams, so that memory holds one tensor at a time.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "../data/open_file.h"
#include "files.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace lf::rt {

enum class FileType { f64, f32, f16, bf16, other };

struct StoredTensor {
  FileType type = FileType::other;
  std::string dtype; ///< as written: "F32"
  std::vector<int64_t> shape;
  int64_t begin = 0, end = 0; ///< bytes in the file
  const OpenFile *file = nullptr;

  /// Bytes of an element; `type` is not other, here and below.
  int64_t width() const { return type == FileType::f64 ? 8 : type == FileType::f32 ? 4 : 2; }
  /// Reads elements [from, to) as stored.
  void read(int64_t from, int64_t to, std::vector<unsigned char> &bytes) const;
  /// Element i as a double.
  double value(int64_t i) const;
};

/// Calls f(convert) where convert(const unsigned char *base, int64_t element) is a double; hoists the choice of the
/// type out of loops.
template <class F> void with_values(FileType, F &&f);

/// Opens one file and checks its header: length, JSON without duplicate keys, known dtypes, shapes whose product equals
/// the bytes, offsets in the file without overlap, gap or rest. Throws Failure 4 with path and byte offset or tensor.
std::map<std::string, StoredTensor> read_safetensors(const std::string &what, const OpenFile &);

/// A Hugging Face folder: model.safetensors, or the shards that model.safetensors.index.json names.
struct SafetensorsFolder {
  /// Throws Failure 4: none of the two files, an index that is no JSON, names a file outside the folder, or disagrees
  /// with the shards.
  SafetensorsFolder(const std::string &what, const std::string &folder);
  static bool present(const std::string &folder);

  std::string path;
  std::map<std::string, StoredTensor> tensors;

private:
  std::vector<std::unique_ptr<OpenFile>> files;
};

/// Writes one file atomically. Tensors are declared first, then their data follow in the same order.
class SafetensorsWriter {
public:
  struct Tensor {
    std::string name;
    std::vector<int64_t> shape;
  };
  SafetensorsWriter(const std::string &path, FileType, const std::vector<Tensor> &);
  void append(const void *bytes, int64_t count) { file.write(bytes, count); }
  void publish() { file.publish(); }

private:
  AtomicFile file;
};

//===----------------------------------------------------------------------===//

double half_to_double(uint16_t);
double bfloat_to_double(uint16_t);

template <class Bits> Bits load_bits(const unsigned char *base, int64_t element) {
  Bits bits;
  __builtin_memcpy(&bits, base + element * static_cast<int64_t>(sizeof bits), sizeof bits);
  return bits;
}

template <class F> void with_values(FileType type, F &&f) {
  using Bytes = const unsigned char *;
  switch (type) {
  case FileType::f64:
    return f([](Bytes base, int64_t i) { return load_bits<double>(base, i); });
  case FileType::f32:
    return f([](Bytes base, int64_t i) { return static_cast<double>(load_bits<float>(base, i)); });
  case FileType::f16:
    return f([](Bytes base, int64_t i) { return half_to_double(load_bits<uint16_t>(base, i)); });
  case FileType::bf16:
    return f([](Bytes base, int64_t i) { return bfloat_to_double(load_bits<uint16_t>(base, i)); });
  case FileType::other:
    return;
  }
}

} // namespace lf::rt
