//===- shard.h - Local shard of a parameter <-> region of its file tensor --===//
//
// Whatever the split, the 2-D view, the transposition and the fusion, a local element (i0, i1, ...) lies at
// base + i0 * stride0 + i1 * stride1 + ... of its Hugging Face tensor, or is padding. Loading, initial weights, saving
// and gradient dumps all walk this one map.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/runtime.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace lf::rt {

/// The map of one shard.
struct Shard {
  int32_t ndim = 0;
  int64_t local[LF_MAX_DIMS] = {}; ///< stored here, padding included
  int64_t valid[LF_MAX_DIMS] = {}; ///< of those, the leading ones that are no padding
  int64_t stride[LF_MAX_DIMS] = {};
  int64_t base = 0;
  int64_t count = 1; ///< local elements

  /// Calls f(local offset, element of the file tensor, its step, length) for the runs of local elements begin .. end
  /// along the last dim, padding left out.
  template <class F> void runs(int64_t begin, int64_t end, F &&f) const;
  template <class F> void runs(F &&f) const { runs(0, count, f); }
};

/// The shard of a rank at these coordinates (one for each axis). Throws Failure 2 when the axes do not divide a dim.
Shard make_shard(const lf_program &, const lf_param &, const std::vector<int32_t> &coordinates);

/// One parameter of one layer, as stored on the ranks of one pipeline rank.
struct Piece {
  const lf_place *place;
  const lf_param *param;
  int32_t layer;            ///< -1 outside the layers
  int64_t offset;           ///< elements, in each arena
  std::string name() const; ///< "layers.3.q"
  std::string hf_name() const;
};
/// All pieces of pipeline rank `pp`, copies included, in the order of the places.
std::vector<Piece> pieces_of(const lf_program &, int32_t pp);

/// True on the one rank that speaks for its shard: index 0 on every axis that neither splits the parameter nor is pp.
bool speaks_for(const lf_program &, const Piece &, const std::vector<int32_t> &coordinates);

/// One tensor of the Hugging Face file, and the pieces (of all pipeline ranks, without copies) that make it up.
struct FileTensor {
  std::string name;
  std::vector<int64_t> shape; ///< as stored: one or two dims, without padding
  std::vector<Piece> parts;
  int64_t count() const;
};
/// In the order of the places. Throws Failure 2 when parts leave a gap or overlap.
std::vector<FileTensor> file_tensors(const lf_program &);

template <class F> void Shard::runs(int64_t begin, int64_t end, F &&f) const {
  int64_t inner = ndim ? local[ndim - 1] : 1, keep = ndim ? valid[ndim - 1] : 1, step = ndim ? stride[ndim - 1] : 1;
  for (int64_t at = begin; at < end;) {
    int64_t row = at / inner, first = at % inner, last = std::min(inner, first + end - at);
    int64_t from = base;
    bool padding = false;
    for (int32_t d = ndim - 2; d >= 0; --d) {
      int64_t i = row % local[d];
      row /= local[d];
      padding |= i >= valid[d];
      from += i * stride[d];
    }
    if (!padding && first < std::min(last, keep))
      f(at, from + first * step, step, std::min(last, keep) - first);
    at += last - first;
  }
}

} // namespace lf::rt
