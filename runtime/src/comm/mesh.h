// mesh.h - ranks, coordinates and groups of a program's mesh.
//
// Idea: rank = mixed-radix number of its coordinates, first axis major. Invariant: a group over a mask is ordered by
// the same mixed radix over the axes of the mask alone.
#pragma once

#include "lf/runtime.h"

#include <cstdint>
#include <vector>

namespace lf::rt {

/// Throws Failure (2) when axes, masks or groups of the program contradict one another.
void check_mesh(const lf_program &);
/// Product of the sizes of all axes: the number of ranks.
int64_t mesh_size(const lf_program &);
/// One coordinate for each axis.
std::vector<int32_t> mesh_coordinates(const lf_program &, int32_t rank);
int32_t mesh_rank(const lf_program &, const std::vector<int32_t> &coordinates);
/// Size of, and index in, the group over a mask.
int32_t group_size(const lf_program &, lf_axes mask);
int32_t group_index(const lf_program &, const std::vector<int32_t> &coordinates, lf_axes mask);
/// World ranks of the group of `rank` over a mask, in group order.
std::vector<int32_t> group_members(const lf_program &, int32_t rank, lf_axes mask);
/// The rank that differs from `rank` only in having index `index` over the mask.
int32_t group_peer(const lf_program &, int32_t rank, lf_axes mask, int32_t index);

} // namespace lf::rt
