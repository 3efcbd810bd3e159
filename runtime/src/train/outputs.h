//===- outputs.h - Whether the files of a run can be written, and are its own ===//
//
// Asked before the run: a mistake in a path is no reason to lose its steps, or what it was to go on from.
//
//===----------------------------------------------------------------------===//
#pragma once

namespace lf::rt {

struct Options;

/// Folders are made, and written to for proof. Throws Failure 4 that names the flag: a path that cannot be written to;
/// data, weights or a checkpoint's file in the place of --metrics or --trace; Failure 2 when those two are one file.
void check_outputs(const Options &);

} // namespace lf::rt
