//===- replicas.h - Are the copies of every parameter still equal? --------===//
//
// Asked for by LF_CHECK_REPLICAS=1 at the end of a run; a drift between ranks is a bug of the plan that no loss shows.
//
//===----------------------------------------------------------------------===//
#pragma once

struct lf_rank;

namespace lf::rt {

/// LF_CHECK_REPLICAS is 1. Throws Failure 2 when it is neither absent nor 0 nor 1.
bool replicas_asked();

/// Compares each shard of each parameter (tied copies too) bit for bit on the ranks that hold it. All ranks call it.
/// Throws Failure 1 that names the parameter and the ranks.
void check_replicas(lf_rank &);

} // namespace lf::rt
