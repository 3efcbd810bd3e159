//===- Files.h - Output files: whole, or as they were -----------------------===//
//
// An output is written beside its place under a name of its own and renamed, so that a full disk, or a signal, leaves no
// half of one, and a program that runs keeps its file.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <string>

namespace lf {

/// Puts a file at `path`, in place of one that is there; of a link, what it points to is replaced. A device, a pipe, or
/// what /dev and /proc name, is written to. Throws lf::Error (exit 2) that names the flag, the file and the reason.
void writeFile(const std::string &path, const std::string &text, const std::string &flag, bool executable = false);

} // namespace lf
