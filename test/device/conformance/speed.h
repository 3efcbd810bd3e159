// speed.h - what the kernels reach, for people to read; nothing is asserted.
#pragma once

namespace lf::test {

/// Prints a table of the kernels of a bfloat16 program at the sizes of Llama-3.2-1B.
void print_speed();

} // namespace lf::test
