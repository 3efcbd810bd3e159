//===- checkpoint.h - Our own checkpoints: bit-exact resume ---------------===//
//
// DIR/iter_0000010/ holds one file a rank (parameters, moments, step, samples, seed) and plan.json; the file
// DIR/latest_checkpointed_iteration.txt names the newest. Both appear whole or not at all. A program reads
// one that has the same parameters at the same places (checkpoint_fit.h).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/runtime.h"

#include <cstdint>
#include <string>

namespace lf::rt {

/// What a run needs before its ranks start.
struct CheckpointInfo {
  std::string folder; ///< DIR/iter_0000010
  int64_t step = 0, consumed = 0;
  uint64_t seed = 0;
};

/// True when the folder claims to hold checkpoints.
bool is_checkpoint(const std::string &directory);

/// Finds the newest checkpoint and checks the file of every rank: header, plan, sizes, that all are of one run. Throws
/// Failure 4 that names file, byte offset and cause; never falls back to an older one.
CheckpointInfo find_checkpoint(const std::string &directory, const lf_program &);

/// Reads this rank's file: arenas, step, consumed samples, seed. Throws Failure 4 when its check sum is wrong.
void load_checkpoint(lf_rank &, const CheckpointInfo &);

/// Removes what runs left unfinished: a part of a checkpoint would keep a full disk full. Nobody saves to the folder
/// meanwhile (FolderLock::alone()).
void drop_unfinished(const std::string &directory);

/// Writes and publishes DIR/iter_<finished steps>. All ranks call it together.
void save_checkpoint(lf_rank &, const std::string &directory);

} // namespace lf::rt
