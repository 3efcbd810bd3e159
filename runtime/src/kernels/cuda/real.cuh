// real.cuh - from the untyped pointers of lf/runtime.h to kernels that are templates on the real type.
//
// Idea: a real is loaded into a float, computed with as a float, and rounded once when it is stored. Memory moves in
// packs of `wide` neighbours where addresses and sizes allow it, else one by one; `width` is which of the two.
#pragma once

#include "lf/runtime.h"
#include "rank.h"

#include <cuda_bf16.h>

#include <cstdint>
#include <string>
#include <type_traits>

namespace lf::rt {

using Bf16 = __nv_bfloat16;

constexpr int wide = 8; ///< elements of a pack: one or two loads of 16 bytes

/// What the sum of a row is kept in: float is more than enough for the eight bits of a bfloat16.
template <class T> using Sum = std::conditional_t<std::is_same_v<T, float>, double, float>;

template <class T> const T *in(const void *p) { return static_cast<const T *>(p); }
template <class T> T *out(void *p) { return static_cast<T *>(p); }

/// Calls body(T{}) with T the C++ type of `type`. Failure 2 for a type that no kernel here has.
template <class Body> void with_type(const char *what, lf_dtype type, Body &&body) {
  switch (type) {
  case LF_F32:
    return body(float{});
  case LF_BF16:
    return body(Bf16{});
  case LF_F64:
    break;
  }
  throw Failure{2, std::string("\"") + what +
                       "\": expected a type on cuda that is float32 or bfloat16, got float64; compile without --fp64, "
                       "or for --target cpu"};
}

/// with_type of the program's real.
template <class Body> void with_real(const lf_rank *c, const char *what, Body &&body) {
  with_type(what, c->program->dtype, body);
}

/// True when all the arrays may be read and written in packs from their first element on.
template <class... T> bool aligned(const T *...p) { return ((reinterpret_cast<uintptr_t>(p) % 16 == 0) && ...); }

__device__ inline float to_float(float x) { return x; }
__device__ inline float to_float(Bf16 x) { return __bfloat162float(x); }
template <class T> __device__ T to_real(float x) {
  if constexpr (std::is_same_v<T, float>)
    return x;
  else
    return __float2bfloat16_rn(x);
}

/// The eight bfloat16 of 16 bytes, first element in the low half of the first word.
__device__ inline void unpack(uint4 words, float (&x)[wide]) {
  const uint32_t word[4] = {words.x, words.y, words.z, words.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    x[2 * i] = __uint_as_float(word[i] << 16);
    x[2 * i + 1] = __uint_as_float(word[i] & 0xffff0000u);
  }
}

__device__ inline uint4 pack(const float (&x)[wide]) {
  uint32_t word[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const __nv_bfloat162 two = __floats2bfloat162_rn(x[2 * i], x[2 * i + 1]);
    word[i] = *reinterpret_cast<const uint32_t *>(&two);
  }
  return make_uint4(word[0], word[1], word[2], word[3]);
}

/// x = p[0 .. width); p is on 16 bytes when width is `wide`.
template <int width> __device__ void load(const float *p, float (&x)[width]) {
  if constexpr (width == 1) {
    x[0] = *p;
  } else {
#pragma unroll
    for (int i = 0; i < width; i += 4) {
      const float4 v = *reinterpret_cast<const float4 *>(p + i);
      x[i] = v.x;
      x[i + 1] = v.y;
      x[i + 2] = v.z;
      x[i + 3] = v.w;
    }
  }
}

template <int width> __device__ void load(const Bf16 *p, float (&x)[width]) {
  if constexpr (width == 1)
    x[0] = __bfloat162float(*p);
  else
    unpack(*reinterpret_cast<const uint4 *>(p), x);
}

/// p[0 .. width) = x, to nearest even.
template <int width> __device__ void store(float *p, const float (&x)[width]) {
  if constexpr (width == 1) {
    *p = x[0];
  } else {
#pragma unroll
    for (int i = 0; i < width; i += 4)
      *reinterpret_cast<float4 *>(p + i) = make_float4(x[i], x[i + 1], x[i + 2], x[i + 3]);
  }
}

template <int width> __device__ void store(Bf16 *p, const float (&x)[width]) {
  if constexpr (width == 1)
    *p = __float2bfloat16_rn(x[0]);
  else
    *reinterpret_cast<uint4 *>(p) = pack(x);
}

} // namespace lf::rt
