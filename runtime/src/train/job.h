//===- job.h - One run: what is checked before it, and its loop -----------===//
//
// Everything a user can have got wrong is found by prepare, before the first rank starts; train runs on every rank.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "../data/token_source.h"
#include "checkpoint.h"
#include "files.h"
#include "hf_weights.h"
#include "learning_rate.h"

#include <atomic>
#include <memory>
#include <optional>

namespace lf::rt {

/// One process's view of a run; ranks that are threads share it and only read, but for `stopped` and rank 0's lock.
struct Job {
  const lf_program *program = nullptr;
  Options options;
  int64_t global_batch = 0, steps = 0; ///< of the whole run
  uint64_t seed = default_seed;
  std::optional<CheckpointInfo> checkpoint;
  std::unique_ptr<HfWeights> weights;
  std::unique_ptr<const TokenSource> data;
  std::unique_ptr<LearningRate> rate;
  std::unique_ptr<FolderLock> saving; ///< of --save, in the process of rank 0
  std::atomic<bool> stopped{false}; ///< by a signal, at a step boundary
};

/// Opens and checks data, weights or checkpoint, outputs and schedule. Throws Failure 2 or 4.
std::unique_ptr<Job> prepare(const lf_program &, Options);

/// The life of one rank: initial state, steps, outputs. Throws Failure.
void train(Job &, lf_rank &);

} // namespace lf::rt
