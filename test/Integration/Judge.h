//===- Judge.h - Is a random plan equal to one rank? ------------------------===//
//
// Compiles and runs both sides with the machinery of lf-verify; single-rank runs are kept while their model lasts.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "Execute.h"
#include "RandomPlan.h"

namespace lf::test {

inline constexpr double tolerance = 1e-9; ///< of each norm

class Judge {
public:
  /// `tool` is argv[0]; files go to folders within `folder`.
  Judge(std::string folder, std::string tool) : folder(std::move(folder)), tool(std::move(tool)) {}

  /// Empty when losses, gradient norms, every gradient and every weight agree, replicas are equal bit for bit, the
  /// clip acts and all ranks send the bytes of plan.json in each step; else what is wrong, in a few lines.
  std::string fault(const RandomPlan &);

  /// The single-rank run of the plan's model and batch; cached.
  const RunResult &single(const RandomPlan &);

private:
  RunSettings settings(const RandomPlan &);

  std::string folder, tool;
  std::string cachedFor; ///< model and batch of `cached`
  RunResult cached;
};

} // namespace lf::test
