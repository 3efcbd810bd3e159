// blas_core.h - mends a BLAS that took a new processor for an old one.
//
// Idea: OpenBLAS before 0.3.25 runs its kernels of 2004 on every Intel processor that it does not know by number, at a
// fifth of the speed; what the processor can do is a better guide than its number.
#pragma once

namespace lf::rt {

/// Makes OpenBLAS choose its kernels again when it chose "Prescott" on a processor with AVX2 or AVX-512, unless
/// OPENBLAS_CORETYPE is set; true when it did. Only while no other thread runs: called before main.
bool mend_blas_core();

} // namespace lf::rt
