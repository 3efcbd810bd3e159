// blas_core.cpp - mends a BLAS that took a new processor for an old one.
#include "kernels/cpu/blas_core.h"

#include <cblas.h>

#include <cstdlib>
#include <string_view>

// Parts of OpenBLAS builds that choose kernels when loaded; other builds lack them, and are left alone.
extern "C" {
__attribute__((weak)) void gotoblas_dynamic_init(void);
__attribute__((weak)) void gotoblas_dynamic_quit(void);
}

namespace lf::rt {

bool mend_blas_core() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (!avx2 || !gotoblas_dynamic_init || !gotoblas_dynamic_quit || std::getenv("OPENBLAS_CORETYPE") ||
      std::string_view(openblas_get_corename()) != "Prescott")
    return false;
  setenv("OPENBLAS_CORETYPE", avx512 ? "SkylakeX" : "Haswell", 1);
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
  unsetenv("OPENBLAS_CORETYPE");
  return true;
#else
  return false;
#endif
}

} // namespace lf::rt
