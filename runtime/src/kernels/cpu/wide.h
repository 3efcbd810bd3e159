// wide.h - runs a loop with the widest vectors that the processor has.
//
// Idea: the program may be copied to another machine, so it is compiled for any x86-64; here the same text is compiled
// again for AVX2 and AVX-512, and chosen when it runs. The choice, and so every bit of a result, is fixed for a
// machine.
#pragma once

// Only what is inlined is compiled again. LF_INLINE: a function that always is; LF_INLINED: a call that always is, for
// clang, whose `flatten` reaches one level of calls and not, as g++'s, all.
#define LF_INLINE [[gnu::always_inline]] inline
#if defined(__clang__)
#define LF_INLINED [[clang::always_inline]]
#else
#define LF_INLINED
#endif

namespace lf::rt {

enum class Vectors { any, avx2, avx512 };

inline Vectors widest_vectors() {
#if defined(__x86_64__)
  static const Vectors widest = [] {
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
      return Vectors::any;
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    return avx512 ? Vectors::avx512 : Vectors::avx2;
  }();
  return widest;
#else
  return Vectors::any;
#endif
}

#if defined(__x86_64__)
template <class Body>
[[gnu::target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma"), gnu::flatten, gnu::noinline]] void
run_avx512(Body &body) {
  LF_INLINED body();
}
template <class Body> [[gnu::target("avx2,fma"), gnu::flatten, gnu::noinline]] void run_avx2(Body &body) {
  LF_INLINED body();
}
#endif

/// Calls body().
template <class Body> void wide(Body &&body) {
#if defined(__x86_64__)
  switch (widest_vectors()) {
  case Vectors::avx512:
    return run_avx512(body);
  case Vectors::avx2:
    return run_avx2(body);
  case Vectors::any:
    break;
  }
#endif
  body();
}

} // namespace lf::rt
