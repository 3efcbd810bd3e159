//===- LfShardingRules.cpp - Factors of every model op ----------*- C++ -*-===//
//
// The factor table of the layout calculus, section 3. One function an op; letters as in the op's description.
//
//===----------------------------------------------------------------------===//
#include "lf/Dialect/Lf.h"

using namespace mlir;
using namespace mlir::lf;
using ::lf::Rule;

/// Letters of an activation by its rank: [S, B, ...].
static std::string letters(int64_t rank) {
  switch (rank) {
  case 0: return "";
  case 1: return "s";
  case 2: return "sb";
  case 3: return "sbh";
  case 4: return "sbgd";
  case 5: return "sbgrd";
  default: return std::string("abcdefghijklmnopqrstuvwxyz").substr(0, std::min<int64_t>(rank, 26));
  }
}
static std::string letters(Value v) { return letters(cast<RankedTensorType>(v.getType()).getRank()); }
static int64_t rankOf(Value v) { return cast<RankedTensorType>(v.getType()).getRank(); }
/// The last n letters, for a bias over the last dims.
static std::string tail(const std::string &all, int64_t n) { return all.substr(all.size() - std::min<size_t>(n, all.size())); }

static Rule rule(std::vector<std::string> operands, std::vector<std::string> results, std::string blocked = "", std::set<int> linear = {}) {
  Rule r;
  r.operands = std::move(operands);
  r.results = std::move(results);
  r.blocked = std::move(blocked);
  r.linear = std::move(linear);
  return r;
}

Rule MatmulOp::getShardingRule() {
  auto [inputs, result] = getSpec().split("->");
  auto [lhs, rhs] = inputs.split(',');
  return rule({lhs.str(), rhs.str()}, {result.str()}, "", {0, 1});
}

Rule SumOp::getShardingRule() {
  std::string x = letters(getResult());
  Rule r = rule(std::vector<std::string>(getTerms().size(), x), {x});
  r.isSum = true;
  return r;
}

Rule BiasAddOp::getShardingRule() {
  std::string x = letters(getX());
  return rule({x, tail(x, rankOf(getBias()))}, {x});
}

Rule BiasGradOp::getShardingRule() {
  std::string x = letters(getDy());
  return rule({x}, {tail(x, rankOf(getDbias()))}, "", {0});
}

Rule RmsNormOp::getShardingRule() {
  std::string x = letters(getX()), last = tail(x, 1);
  return rule({x, last}, {x}, last);
}

Rule RmsNormGradOp::getShardingRule() {
  std::string x = letters(getX()), last = tail(x, 1);
  return rule({x, last, x}, {x, last}, last, {2});
}

Rule LayerNormOp::getShardingRule() {
  std::string x = letters(getX()), last = tail(x, 1);
  return rule({x, last, last}, {x}, last);
}

Rule LayerNormGradOp::getShardingRule() {
  std::string x = letters(getX()), last = tail(x, 1);
  return rule({x, last, x}, {x, last, last}, last, {2});
}

Rule RopeOp::getShardingRule() {
  std::string x = letters(getX());
  return rule({x, x.substr(0, 1)}, {x}, tail(x, 1), {0});
}

Rule AttentionOp::getShardingRule() { return rule({"sbgrd", "tbgd", "tbgd", "s", "t"}, {"sbgrd", "sbgr"}, "td"); }

Rule AttentionGradOp::getShardingRule() {
  return rule({"sbgrd", "tbgd", "tbgd", "s", "t", "sbgrd", "sbgr", "sbgrd"}, {"sbgrd", "tbgd", "tbgd"}, "td", {7});
}

Rule ActivationOp::getShardingRule() { return rule({letters(getX())}, {letters(getX())}); }

Rule ActivationGradOp::getShardingRule() {
  std::string x = letters(getX());
  return rule({x, x}, {x}, "", {1});
}

Rule GluOp::getShardingRule() {
  std::string x = letters(getGate());
  return rule({x, x}, {x}, "", {1});
}

Rule GluGradOp::getShardingRule() {
  std::string x = letters(getGate());
  return rule({x, x, x}, {x, x}, "", {2});
}

Rule DropoutOp::getShardingRule() { return rule({"sbh", "s"}, {"sbh"}, "", {0}); }

Rule EmbeddingOp::getShardingRule() { return rule({"sb", "vh"}, {"sbh"}, "", {1}); }

Rule EmbeddingGradOp::getShardingRule() { return rule({"sb", "sbh"}, {"vh"}, "", {1}); }

Rule PositionEmbeddingOp::getShardingRule() { return rule({"sbh", "s", "ph"}, {"sbh"}, "p"); }

Rule PositionEmbeddingGradOp::getShardingRule() { return rule({"s", "sbh"}, {"ph"}, "p", {1}); }

Rule CrossEntropyOp::getShardingRule() { return rule({"sbv", "sb"}, {"sb", "sb", "sb"}, "v"); }

Rule CrossEntropyGradOp::getShardingRule() { return rule({"sbv", "sb", "sb", "sb", "sb"}, {"sbv"}, "", {4}); }

Rule RowMaxOp::getShardingRule() {
  Rule r = rule({"sbv"}, {"sb"});
  r.reduction = ::lf::Reduction::max;
  return r;
}

Rule SumExpOp::getShardingRule() { return rule({"sbv", "sb"}, {"sb"}); }

Rule PickOp::getShardingRule() { return rule({"sbv", "sb"}, {"sb"}); }

Rule NllOp::getShardingRule() { return rule({"sb", "sb", "sb", "sb"}, {"sb"}); }

Rule SumAllOp::getShardingRule() { return rule({letters(getX())}, {""}, "", {0}); }

Rule CountOp::getShardingRule() { return rule({letters(getLabels())}, {""}); }

Rule DepthLossOp::getShardingRule() { return rule({""}, {""}, "", {0}); }

Rule DepthWeightOp::getShardingRule() { return rule({""}, {""}, "", {0}); }

Rule BroadcastOp::getShardingRule() { return rule({""}, {letters(getResult())}, "", {0}); }

Rule FillOp::getShardingRule() { return rule({}, {letters(getResult())}); }
