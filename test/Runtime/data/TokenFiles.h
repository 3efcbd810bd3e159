//===- TokenFiles.h - Token files made for one test -----------------------===//
//
// Written byte by byte from the layouts in docs/running.md, not with the code under test.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace lf::rt::test {

template <class Integer> void put(std::string &bytes, Integer value) {
  for (size_t i = 0; i < sizeof value; ++i)
    bytes += static_cast<char>(static_cast<uint64_t>(value) >> 8 * i & 255);
}

inline std::vector<int64_t> counting(int64_t count) {
  std::vector<int64_t> tokens;
  for (int64_t i = 0; i < count; ++i)
    tokens.push_back(i);
  return tokens;
}

/// A folder that vanishes with the test.
class Folder {
public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lf-data-XXXXXX").string();
    path = mkdtemp(pattern.data());
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string operator/(const std::string &name) const { return path + "/" + name; }

  std::string write(const std::string &name, const std::string &bytes) const {
    std::ofstream(*this / name, std::ios::binary) << bytes;
    return *this / name;
  }
  std::string write_u16(const std::string &name, const std::vector<int64_t> &tokens) const {
    std::string bytes;
    for (int64_t token : tokens)
      put(bytes, static_cast<uint16_t>(token));
    return write(name, bytes);
  }
  /// name.bin and name.idx, one sequence a document; width 2 or 4 bytes.
  void write_indexed(const std::string &name, const std::vector<std::vector<int64_t>> &documents, int width) const {
    std::string bin, idx("MMIDIDX\0\0", 9);
    put(idx, uint64_t(1));
    put(idx, uint8_t(width == 2 ? 8 : 4));
    put(idx, uint64_t(documents.size()));
    put(idx, uint64_t(documents.size() + 1));
    for (auto &document : documents)
      put(idx, static_cast<uint32_t>(document.size()));
    for (auto &document : documents) {
      put(idx, uint64_t(bin.size()));
      for (int64_t token : document)
        width == 2 ? put(bin, static_cast<uint16_t>(token)) : put(bin, static_cast<uint32_t>(token));
    }
    for (uint64_t i = 0; i <= documents.size(); ++i)
      put(idx, i);
    write(name + ".bin", bin);
    write(name + ".idx", idx);
  }

  std::string path;
};

} // namespace lf::rt::test
