//===- safetensors_write.cpp - Writing weights, one tensor at a time ------===//
//
// The header is padded with spaces to a multiple of 8 bytes, as the format's own library does.
//
//===----------------------------------------------------------------------===//
#include "safetensors.h"

#include <nlohmann/json.hpp>

namespace lf::rt {

SafetensorsWriter::SafetensorsWriter(const std::string &path, FileType type, const std::vector<Tensor> &tensors)
    : file(path) {
  nlohmann::ordered_json header;
  header["__metadata__"] = {{"format", "pt"}};
  int64_t next = 0;
  for (const Tensor &tensor : tensors) {
    int64_t end = type == FileType::f64 ? 8 : 4;
    for (int64_t extent : tensor.shape)
      end *= extent;
    end += next;
    header[tensor.name] = {
        {"dtype", type == FileType::f64 ? "F64" : "F32"}, {"shape", tensor.shape}, {"data_offsets", {next, end}}};
    next = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  uint64_t length = text.size();
  file.write(&length, sizeof length);
  file.write(text.data(), static_cast<int64_t>(length));
}

} // namespace lf::rt
