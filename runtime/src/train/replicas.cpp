//===- replicas.cpp - Are the copies of every parameter still equal? ------===//
//
// Ranks send one 64-bit hash a piece; rank 0 compares those of equal name and equal shard.
//
//===----------------------------------------------------------------------===//
#include "replicas.h"

#include "../comm/comm.h"
#include "../comm/mesh.h"
#include "../data/permutation.h"
#include "../environment.h"
#include "device.h"
#include "real.h"
#include "shard.h"
#include "../text.h"

#include <map>

namespace lf::rt {

bool replicas_asked() { return environment_switch("LF_CHECK_REPLICAS", false); }

void check_replicas(lf_rank &c) {
  const lf_program &program = *c.program;
  size_t most = 0;
  for (int32_t pp = 0; pp < group_size(program, program.pp); ++pp)
    most = std::max(most, pieces_of(program, pp).size());
  std::vector<uint64_t> mine(most, 0), all(c.rank == 0 ? most * static_cast<size_t>(c.world) : 0);
  std::vector<Piece> pieces = pieces_of(program, c.pp);
  with_real(program, [&](auto real) {
    using Real = decltype(real);
    for (size_t i = 0; i < pieces.size(); ++i) {
      std::vector<Real> host(static_cast<size_t>(make_shard(program, *pieces[i].param, c.coordinates).count));
      copy_to_host(c, host.data(), static_cast<Real *>(lf_arena(&c, LF_MASTER)) + pieces[i].offset,
                   static_cast<int64_t>(host.size() * sizeof(Real)));
      for (Real value : host) {
        uint64_t bits = 0;
        __builtin_memcpy(&bits, &value, sizeof value);
        mine[i] = mix(mine[i] ^ bits);
      }
    }
  });
  c.comms[static_cast<size_t>(program.world_comm)]->gather("replicas", mine.data(), all.data(),
                                                           static_cast<int64_t>(most * sizeof(uint64_t)));
  std::map<std::pair<std::string, std::vector<int32_t>>, std::pair<int32_t, uint64_t>> first;
  for (int32_t rank = 0; c.rank == 0 && rank < c.world; ++rank) {
    std::vector<int32_t> coordinates = mesh_coordinates(program, rank);
    pieces = pieces_of(program, group_index(program, coordinates, program.pp));
    for (size_t i = 0; i < pieces.size(); ++i) {
      std::vector<int32_t> shard;
      for (int32_t d = 0; d < pieces[i].param->ndim; ++d)
        shard.push_back(group_index(program, coordinates, pieces[i].param->split[d]));
      uint64_t hash = all[static_cast<size_t>(rank) * most + i];
      auto [seen, fresh] = first.try_emplace({pieces[i].name(), shard}, rank, hash);
      if (!fresh && seen->second.second != hash)
        throw Failure{1, "LF_CHECK_REPLICAS: parameter " + quote(pieces[i].name()) +
                             ": expected the same bits on rank " + std::to_string(seen->second.first) + " and rank " +
                             std::to_string(rank) + ", got different ones"};
    }
  }
}

} // namespace lf::rt
