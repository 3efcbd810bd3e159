//===- safetensors_read.cpp - Reading weights that may be malformed -------===//
//
// Every number of the header is checked against the size of the file before it is used.
//
//===----------------------------------------------------------------------===//
#include "../rank.h"
#include "json.h"
#include "safetensors.h"
#include "../text.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

namespace lf::rt {

using nlohmann::json;
namespace fs = std::filesystem;

double half_to_double(uint16_t bits) {
  int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double magnitude = exponent == 31 ? (fraction ? NAN : INFINITY)
                     : exponent     ? std::ldexp(1024 + fraction, exponent - 25)
                                    : std::ldexp(fraction, -24);
  return bits >> 15 ? -magnitude : magnitude;
}

double bfloat_to_double(uint16_t bits) {
  uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  __builtin_memcpy(&value, &wide, sizeof value);
  return value;
}

void StoredTensor::read(int64_t from, int64_t to, std::vector<unsigned char> &bytes) const {
  bytes.resize(static_cast<size_t>((to - from) * width()));
  file->read(begin + from * width(), bytes.data(), (to - from) * width());
}

double StoredTensor::value(int64_t i) const {
  std::vector<unsigned char> bytes;
  read(i, i + 1, bytes);
  double value = 0;
  with_values(type, [&](auto convert) { value = convert(bytes.data(), 0); });
  return value;
}

namespace {

const std::map<std::string, int64_t> &dtype_bits() {
  static const std::map<std::string, int64_t> bits = {
      {"BOOL", 8}, {"U8", 8},    {"I8", 8},   {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"I16", 16}, {"U16", 16},
      {"F16", 16}, {"BF16", 16}, {"I32", 32}, {"U32", 32},    {"F32", 32},    {"I64", 64},    {"U64", 64}, {"F64", 64}};
  return bits;
}

template <class Value> std::vector<std::string> names_of(const std::map<std::string, Value> &table) {
  std::vector<std::string> names;
  for (auto &entry : table)
    names.push_back(entry.first);
  return names;
}

FileType type_of(const std::string &dtype) {
  return dtype == "F64"    ? FileType::f64
         : dtype == "F32"  ? FileType::f32
         : dtype == "F16"  ? FileType::f16
         : dtype == "BF16" ? FileType::bf16
                           : FileType::other;
}

bool is_count(const json &value) { return value.is_number_unsigned() && value.get<uint64_t>() <= uint64_t(1) << 62; }

} // namespace

std::map<std::string, StoredTensor> read_safetensors(const std::string &what, const OpenFile &file) {
  std::string where = what + ": " + quote(file.path) + ", ";
  auto refuse = [&](int64_t byte, const std::string &expected, const std::string &got) {
    throw Failure{4, where + "byte " + std::to_string(byte) + ": expected " + expected + ", got " + got};
  };
  if (file.size() < 8)
    refuse(0, "at least the 8 bytes of the header's length", std::to_string(file.size()) + " bytes");
  uint64_t length, rest = static_cast<uint64_t>(file.size() - 8);
  file.read(0, &length, sizeof length);
  if (length > rest)
    refuse(0,
           "a header of at most " + std::to_string(rest) + " bytes (the file's " + std::to_string(file.size()) +
               " - 8)",
           std::to_string(length));
  if (constexpr uint64_t most = 100'000'000; length > most) // as Hugging Face has it
    refuse(0, "a header of at most " + std::to_string(most) + " bytes", std::to_string(length));
  std::string text(length, '\0');
  file.read(8, text.data(), static_cast<int64_t>(length));
  json header = parse_object(text.data(), text.data() + length,
                             [&](int64_t byte, const std::string &expected, const std::string &got) {
                               refuse(8 + byte, expected + " as header", got);
                             });
  int64_t base = 8 + static_cast<int64_t>(length), size = file.size() - base;
  std::map<std::string, StoredTensor> tensors;
  for (auto &[name, entry] : header.items()) {
    if (name == "__metadata__")
      continue;
    auto wrong = [&, &name = name](const std::string &expected, const std::string &got) {
      throw Failure{4, where + "tensor " + quote(name) + ": expected " + expected + ", got " + got};
    };
    if (!entry.is_object() || !entry.contains("dtype") || !entry.contains("shape") || !entry.contains("data_offsets"))
      wrong("an object with \"dtype\", \"shape\" and \"data_offsets\"", entry.dump().substr(0, 80));
    StoredTensor tensor;
    const json &dtype = entry["dtype"], &shape = entry["shape"], &offsets = entry["data_offsets"];
    if (!dtype.is_string() || !dtype_bits().count(dtype.get<std::string>()))
      wrong("one of the dtypes " + name_list(names_of(dtype_bits()), dtype_bits().size()), dtype.dump().substr(0, 80));
    tensor.dtype = dtype.get<std::string>();
    tensor.type = type_of(tensor.dtype);
    if (!shape.is_array() || !std::all_of(shape.begin(), shape.end(), is_count))
      wrong("a shape of integers of at least 0", shape.dump().substr(0, 80));
    if (!offsets.is_array() || offsets.size() != 2 || !is_count(offsets[0]) || !is_count(offsets[1]))
      wrong("two \"data_offsets\" of at least 0", offsets.dump().substr(0, 80));
    int64_t begin = offsets[0].get<int64_t>(), end = offsets[1].get<int64_t>();
    if (begin > end || end > size)
      wrong("\"data_offsets\" that rise and stay within the " + std::to_string(size) + " bytes of data",
            offsets.dump());
    int64_t bytes = dtype_bits().at(tensor.dtype) / 8;
    for (const json &extent : shape) {
      tensor.shape.push_back(extent.get<int64_t>());
      if (__builtin_mul_overflow(bytes, tensor.shape.back(), &bytes))
        wrong("a shape that fits in 64 bits", shape.dump().substr(0, 80));
    }
    if (bytes != end - begin)
      wrong(std::to_string(bytes) + " bytes (" + tensor.dtype + " of shape " + shape_text(tensor.shape) + ")",
            std::to_string(end) + " - " + std::to_string(begin) + " = " + std::to_string(end - begin));
    tensor.begin = base + begin;
    tensor.end = base + end;
    tensor.file = &file;
    tensors.emplace(name, std::move(tensor));
  }
  std::vector<std::pair<int64_t, const std::string *>> order;
  for (auto &[name, tensor] : tensors)
    order.push_back({tensor.begin, &name});
  std::sort(order.begin(), order.end(), [&](auto &a, auto &b) {
    return std::pair(a.first, tensors.at(*a.second).end) < std::pair(b.first, tensors.at(*b.second).end);
  });
  int64_t next = base;
  for (auto &[begin, name] : order) {
    if (begin != next)
      throw Failure{4, where + "tensor " + quote(*name) + ": expected its data at byte " + std::to_string(next) +
                           ", right after the tensor before, got byte " + std::to_string(begin)};
    next = tensors.at(*name).end;
  }
  if (next != file.size())
    refuse(next, "the end of the file after the last tensor", std::to_string(file.size() - next) + " more bytes");
  return tensors;
}

bool SafetensorsFolder::present(const std::string &folder) {
  std::error_code ignored;
  return fs::exists(folder + "/model.safetensors", ignored) ||
         fs::exists(folder + "/model.safetensors.index.json", ignored);
}

SafetensorsFolder::SafetensorsFolder(const std::string &what, const std::string &folder) : path(folder) {
  std::error_code ignored;
  if (fs::exists(folder + "/model.safetensors", ignored)) {
    files.push_back(std::make_unique<OpenFile>(what, folder + "/model.safetensors"));
    tensors = read_safetensors(what, *files.back());
    return;
  }
  std::string index = folder + "/model.safetensors.index.json";
  std::string text = read_text(what, index);
  auto refuse = [&](const std::string &expected, const std::string &got) {
    throw Failure{4, what + ": " + quote(index) + ": expected " + expected + ", got " + got};
  };
  json object =
      parse_object(text.data(), text.data() + text.size(),
                   [&](int64_t, const std::string &expected, const std::string &got) { refuse(expected, got); });
  if (!object.contains("weight_map") || !object["weight_map"].is_object() || object["weight_map"].empty())
    refuse("an object \"/weight_map\" with the file of each tensor", "none");
  std::map<std::string, std::string> file_of;
  std::set<std::string> names;
  for (auto &[tensor, file] : object["weight_map"].items()) {
    std::string name = file.is_string() ? file.get<std::string>() : "";
    if (name.empty() || name.find_first_of(std::string("/\0", 2)) != std::string::npos)
      refuse("a file of this folder for " + quote(tensor), file.dump().substr(0, 80));
    file_of[tensor] = name;
    names.insert(name);
  }
  for (const std::string &name : names) {
    files.push_back(std::make_unique<OpenFile>(what, folder + "/" + name));
    for (auto &[tensor, stored] : read_safetensors(what, *files.back())) {
      auto listed = file_of.find(tensor);
      if (listed == file_of.end() || listed->second != name)
        refuse(quote(tensor) + " in " + quote(name) + ", where it is",
               listed == file_of.end() ? "no entry" : quote(listed->second));
      tensors.emplace(tensor, stored);
    }
  }
  for (auto &[tensor, file] : file_of)
    if (!tensors.count(tensor))
      throw Failure{4, what + ": " + quote(folder + "/" + file) + ": expected tensor " + quote(tensor) +
                           ", which the index names, got no such tensor"};
}

} // namespace lf::rt
