//===- Scratch.h - A folder for the files of a test -------------------------===//
//
// Gone with the object, unless a test asks to keep it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace lf::test {

struct Scratch {
  std::string path;
  bool keep = false;

  Scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lf-test-XXXXXX").string();
    if (!mkdtemp(pattern.data()))
      throw std::runtime_error("expected a folder for temporary files (TMPDIR), got none that can be written");
    path = pattern;
  }
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;
  ~Scratch() {
    std::error_code ignored;
    if (!keep)
      std::filesystem::remove_all(path, ignored);
  }
  std::string operator/(const std::string &name) const { return path + "/" + name; }
};

} // namespace lf::test
