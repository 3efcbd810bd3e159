//===- MiniModel.h - A Llama-like model as a light graph, for tests -------===//
//
// Embedding, decoder layers (dense or MoE) and head as ops with factor rules, their adjoints, and what each strategy
// annotates. No op computes: the tests count collectives and read layouts.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/Layout/Propagate.h"

namespace lf::mini {

struct Config {
  int64_t seq = 16, batch = 4, hidden = 16, groups = 4, rep = 2, head = 4, ffn = 24, vocab = 32, layers = 2;
  bool tied = false, qkNorm = false, dropout = false, parallelBlock = false;
  int64_t experts = 0;
  bool sharedExpert = false, balanceLoss = false;
};

struct Plan {
  std::vector<std::pair<std::string, int64_t>> mesh;
  Axes dp, cp, tp;
  std::optional<Axes> kv; ///< the part of tp that splits kv heads; the rest of tp repeats them
  Axes ep;
  bool sp = false;
  int zero = 0;
  std::string cpType = "allgather";
  Axes ring; ///< with a2a: the part of cp that is a ring instead
  std::string dispatcher = "alltoall";
  bool recompute = false;
};

/// One function of the model with its backward. `kind` and `tag` (embed, layer0, head) have one entry for each op.
class Program {
public:
  Graph graph;
  std::vector<std::string> kind, tag;
  std::map<std::string, int> named; ///< first value of each name
  std::map<int, int> gradient;      ///< parameter -> its gradient
  int one = -1;                     ///< cotangent of the loss

  int value(const std::string &name, Shape shape, ValueRole role);
  /// Appends an op to the forward, or to the backward once differentiate() has begun. "sbh,hf->sbf"; sizes of factors
  /// that only results have come from the op `of`.
  std::vector<int> op(const std::string &kind, const std::string &specs, std::vector<int> operands,
                      std::vector<std::string> names, int of = -1, ValueRole role = ValueRole::act);

  Program(const Config &, const Plan &);
  /// The backward: n-ary sums (B2), no dead cotangents (B3) unless `keepDead`.
  void differentiate(bool keepDead);

private:
  bool inBackward = false;
  std::string now;
  int loss = -1, logits = -1;
  std::vector<int> params, streams;

  void build(const Config &);
  void annotate(const Config &, const Plan &);
  int param(const std::string &name, Shape shape);
  /// Contributions of one op: (value, contribution).
  std::vector<std::pair<int, int>> adjoint(int op, int cotangent);
};

} // namespace lf::mini
