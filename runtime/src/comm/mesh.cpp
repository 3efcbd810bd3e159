// mesh.cpp - mixed-radix arithmetic over the axes of a program.
//
// Idea: everything is a walk over the axes from minor to major.
#include "comm/mesh.h"

#include "rank.h"

#include <string>

namespace lf::rt {

static std::string quoted(const char *name) { return "\"" + std::string(name ? name : "") + "\""; }

void check_mesh(const lf_program &p) {
  auto refuse = [](const std::string &text) { throw Failure{2, text}; };
  if (p.num_axes < 0 || p.num_axes > LF_MAX_AXES)
    refuse("expected at most " + std::to_string(LF_MAX_AXES) + " mesh axes, got " + std::to_string(p.num_axes));
  int64_t ranks = 1;
  lf_axes known = 0;
  for (int32_t i = 0; i < p.num_axes; ++i) {
    if (p.axes[i].size < 1)
      refuse("expected the size of mesh axis " + quoted(p.axes[i].name) + " to be 1 or more, got " +
             std::to_string(p.axes[i].size));
    ranks *= p.axes[i].size;
    known |= lf_axes(1) << i;
    if (ranks > INT32_MAX)
      refuse("expected fewer than 2147483648 ranks, got a mesh of " + std::to_string(ranks) + " and more");
  }
  for (int32_t i = 0; i < p.num_comms; ++i)
    if (p.comms[i].axes & ~known)
      refuse("expected comm " + quoted(p.comms[i].name) + " to be made of the " + std::to_string(p.num_axes) +
             " mesh axes, got the mask " + std::to_string(p.comms[i].axes));
  if ((p.pp | p.dp | p.cp | p.tp) & ~known)
    refuse("expected the strategies' axes to be among the " + std::to_string(p.num_axes) + " mesh axes, got the mask " +
           std::to_string(p.pp | p.dp | p.cp | p.tp));
  if (p.num_comms > 0 && (p.world_comm < 0 || p.world_comm >= p.num_comms))
    refuse("expected the world's comm to be below " + std::to_string(p.num_comms) + ", got " +
           std::to_string(p.world_comm));
}

int64_t mesh_size(const lf_program &p) {
  int64_t ranks = 1;
  for (int32_t i = 0; i < p.num_axes; ++i)
    ranks *= p.axes[i].size;
  return ranks;
}

std::vector<int32_t> mesh_coordinates(const lf_program &p, int32_t rank) {
  std::vector<int32_t> coordinates(p.num_axes);
  for (int32_t i = p.num_axes - 1; i >= 0; --i) {
    coordinates[i] = rank % p.axes[i].size;
    rank /= p.axes[i].size;
  }
  return coordinates;
}

int32_t mesh_rank(const lf_program &p, const std::vector<int32_t> &coordinates) {
  int32_t rank = 0;
  for (int32_t i = 0; i < p.num_axes; ++i)
    rank = rank * p.axes[i].size + coordinates[i];
  return rank;
}

int32_t group_size(const lf_program &p, lf_axes mask) {
  int32_t size = 1;
  for (int32_t i = 0; i < p.num_axes; ++i)
    if (mask >> i & 1)
      size *= p.axes[i].size;
  return size;
}

int32_t group_index(const lf_program &p, const std::vector<int32_t> &coordinates, lf_axes mask) {
  int32_t index = 0;
  for (int32_t i = 0; i < p.num_axes; ++i)
    if (mask >> i & 1)
      index = index * p.axes[i].size + coordinates[i];
  return index;
}

int32_t group_peer(const lf_program &p, int32_t rank, lf_axes mask, int32_t index) {
  std::vector<int32_t> coordinates = mesh_coordinates(p, rank);
  for (int32_t i = p.num_axes - 1; i >= 0; --i)
    if (mask >> i & 1) {
      coordinates[i] = index % p.axes[i].size;
      index /= p.axes[i].size;
    }
  return mesh_rank(p, coordinates);
}

std::vector<int32_t> group_members(const lf_program &p, int32_t rank, lf_axes mask) {
  std::vector<int32_t> members(group_size(p, mask));
  for (size_t i = 0; i < members.size(); ++i)
    members[i] = group_peer(p, rank, mask, static_cast<int32_t>(i));
  return members;
}

} // namespace lf::rt
