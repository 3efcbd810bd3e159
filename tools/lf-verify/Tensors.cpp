//===- Tensors.cpp - Tensors of a safetensors folder, in float64 ------------===//
//
// See Tensors.h.
//
//===----------------------------------------------------------------------===//
#include "Tensors.h"
#include "lf/Support/Error.h"
#include "lf/Support/Text.h"
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace lf {

static Error bad(const std::string &file, const std::string &message) {
  return Error(Exit::data, quote(file) + ": " + message);
}

static void readFile(const std::string &file, Tensors &out) {
  std::ifstream stream(file, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  uint64_t length = 0;
  if (bytes.size() >= 8)
    std::memcpy(&length, bytes.data(), 8);
  if (bytes.size() < 8 || length > bytes.size() - 8)
    throw bad(file, "at byte 0: expected a header within the " + std::to_string(bytes.size()) +
                        " bytes of the file, got one of " + std::to_string(length));
  auto header = nlohmann::json::parse(bytes.substr(8, length), nullptr, false);
  if (!header.is_object())
    throw bad(file, "at byte 8: expected a JSON object, got other text");
  const size_t data = 8 + length;
  for (const auto &[name, entry] : header.items()) {
    if (name == "__metadata__")
      continue;
    auto type = entry.value("dtype", std::string());
    auto offsets = entry.value("data_offsets", std::vector<uint64_t>());
    if (type != "F64")
      throw bad(file, "tensor " + quote(name) + ": expected type \"F64\", got " + quote(type));
    if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > bytes.size() - data ||
        (offsets[1] - offsets[0]) % 8 != 0)
      throw bad(file, "tensor " + quote(name) + ": expected offsets within the data, got others");
    std::vector<double> values((offsets[1] - offsets[0]) / 8);
    std::memcpy(values.data(), bytes.data() + data + offsets[0], values.size() * 8);
    out.emplace(name, std::move(values));
  }
}

Tensors readTensors(const std::string &folder) {
  Tensors out;
  std::error_code error;
  for (const auto &entry : std::filesystem::directory_iterator(folder, error))
    if (entry.path().extension() == ".safetensors")
      readFile(entry.path().string(), out);
  if (out.empty())
    throw bad(folder, "expected safetensors files with tensors, got none");
  return out;
}

double norm(const std::vector<double> &values) {
  double sum = 0;
  for (double v : values)
    sum += v * v;
  return std::sqrt(sum);
}

} // namespace lf
