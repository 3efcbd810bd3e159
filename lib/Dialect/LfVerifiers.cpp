//===- LfVerifiers.cpp - Constraints of the model and pipeline ops -*- C++ -*-===//
//
// F1 for every op with a sharding rule, then the numbered constraints of single ops.
//
//===----------------------------------------------------------------------===//
#include "lf/Dialect/Lf.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::lf;

static RankedTensorType tensorOf(Value v) { return cast<RankedTensorType>(v.getType()); }

/// (C1) of products: a letter for each dim, lower case, none twice in one operand.
static LogicalResult verifySpec(MatmulOp op) {
  StringRef spec = op.getSpec();
  auto [inputs, result] = spec.split("->");
  auto [lhs, rhs] = inputs.split(',');
  auto letters = [](StringRef list) {
    llvm::SmallDenseSet<char, 8> seen;
    return llvm::all_of(list, [&](char c) { return c >= 'a' && c <= 'z' && seen.insert(c).second; });
  };
  if (spec.count("->") != 1 || inputs.count(',') != 1 || !letters(lhs) || !letters(rhs) || !letters(result))
    return op.emitOpError() << "(C1) expected a spec such as \"sbh,hf->sbf\", got \"" << spec << "\"";
  for (auto [list, value, what] : {std::tuple(lhs, op.getLhs(), "lhs"), std::tuple(rhs, op.getRhs(), "rhs"), std::tuple(result, op.getResult(), "result")})
    if (int64_t(list.size()) != tensorOf(value).getRank())
      return op.emitOpError() << "(C1) expected " << what << " of rank " << list.size() << " (\"" << list << "\" of the spec), got rank "
                              << tensorOf(value).getRank();
  for (char c : result)
    if (!lhs.contains(c) && !rhs.contains(c))
      return op.emitOpError() << "(C1) expected each factor of the result in an operand, got \"" << StringRef(&c, 1) << "\"";
  return success();
}

static LogicalResult verifyOwnConstraints(Operation *op) {
  if (auto matmul = dyn_cast<MatmulOp>(op))
    return verifySpec(matmul);
  if (auto sum = dyn_cast<SumOp>(op)) {
    if (sum.getTerms().size() < 2)
      return op->emitOpError() << "(C1) expected at least 2 terms, got " << sum.getTerms().size();
  } else if (auto bias = dyn_cast<BiasAddOp>(op)) {
    if (tensorOf(bias.getBias()).getRank() > tensorOf(bias.getX()).getRank())
      return op->emitOpError() << "(C1) expected a bias of at most rank " << tensorOf(bias.getX()).getRank() << ", got rank "
                               << tensorOf(bias.getBias()).getRank();
  } else if (auto rope = dyn_cast<RopeOp>(op)) {
    RankedTensorType x = tensorOf(rope.getX());
    if (x.getRank() < 3 || 2 * int64_t(rope.getInvFreq().size()) != x.getShape().back())
      return op->emitOpError() << "(C1) expected inv_freq of d/2 entries for x [S, B, ..., d], got " << rope.getInvFreq().size() << " entries";
  } else if (auto valid = op->getAttrOfType<IntegerAttr>("valid"); valid && isa<CrossEntropyOp, CrossEntropyGradOp, RowMaxOp, SumExpOp>(op)) {
    // A shard may lie wholly in the padding, so only the sign is checked here.
    if (valid.getInt() < 1)
      return op->emitOpError() << "(C1) expected at least 1 valid column, got " << valid.getInt();
  } else if (auto dropout = dyn_cast<DropoutOp>(op)) {
    double p = dropout.getP().convertToDouble();
    if (!(p > 0.0 && p < 1.0))
      return op->emitOpError() << "(C1) expected 0 < p < 1, got " << p;
  }
  return success();
}

LogicalResult mlir::lf::verifyModelOp(Operation *op) {
  if (failed(verifyOwnConstraints(op)))
    return failure();
  ::lf::Rule rule = cast<ShardingRuleInterface>(op).getShardingRule();
  std::map<char, std::pair<int64_t, std::string>> sizes; // factor -> size, where it was first seen
  auto check = [&](StringRef letters, Value value, std::string what) -> LogicalResult {
    RankedTensorType type = tensorOf(value);
    if (type.getRank() != int64_t(letters.size()))
      return op->emitOpError() << "(F1) expected " << what << " of rank " << letters.size() << " (factors \"" << letters << "\"), got rank "
                               << type.getRank();
    if (!type.hasStaticShape())
      return op->emitOpError() << "(F1) expected " << what << " of static shape, got " << type;
    for (auto [dim, factor] : llvm::enumerate(letters)) {
      auto [it, fresh] = sizes.try_emplace(factor, type.getDimSize(dim), what);
      if (!fresh && it->second.first != type.getDimSize(dim))
        return op->emitOpError() << "(F1) expected " << what << " dim " << dim << " to be " << it->second.first << " (factor \"" << std::string(1, factor)
                                 << "\" of " << it->second.second << "), got " << type.getDimSize(dim);
    }
    return success();
  };
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (failed(check(rule.operands[i], operand, "operand " + std::to_string(i))))
      return failure();
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    if (failed(check(rule.results[i], result, "result " + std::to_string(i))))
      return failure();
  return verifyElementTypes(op);
}

std::map<char, int64_t> mlir::lf::factorSizes(Operation *op) {
  std::map<char, int64_t> sizes;
  ::lf::Rule rule = cast<ShardingRuleInterface>(op).getShardingRule();
  for (auto [letters, value] : llvm::zip(rule.operands, op->getOperands()))
    for (auto [dim, factor] : llvm::enumerate(letters))
      sizes[factor] = tensorOf(value).getDimSize(dim);
  for (auto [letters, value] : llvm::zip(rule.results, op->getResults()))
    for (auto [dim, factor] : llvm::enumerate(letters))
      sizes[factor] = tensorOf(value).getDimSize(dim);
  return sizes;
}

LogicalResult MeshOp::verify() {
  constexpr int64_t rankLimit = int64_t(1) << 31;
  int64_t ranks = 1;
  llvm::StringSet<> seen;
  if (getAxes().size() != getSizes().size())
    return emitOpError() << "(C1) expected one size for each axis, got " << getAxes().size() << " axes and " << getSizes().size() << " sizes";
  for (auto [axis, size] : llvm::zip(getAxes(), getSizes())) {
    if (!seen.insert(cast<StringAttr>(axis).getValue()).second)
      return emitOpError() << "(C1) expected distinct axes, got " << axis << " twice";
    if (size < 1)
      return emitOpError() << "(C1) expected a positive size of axis " << axis << ", got " << size;
    if (size > rankLimit || (ranks *= size) > rankLimit)
      return emitOpError() << "(C1) expected at most " << rankLimit << " ranks, got more";
  }
  SmallVector<Attribute> order(getAxes().begin(), getAxes().end());
  for (NamedAttribute name : getNames()) {
    auto list = dyn_cast<ArrayAttr>(name.getValue());
    ptrdiff_t last = -1;
    for (Attribute axis : list ? list.getValue() : ArrayRef<Attribute>()) {
      ptrdiff_t at = llvm::find(order, axis) - order.begin();
      if (at == ptrdiff_t(order.size()) || at <= last)
        return emitOpError() << "(C2) expected \"" << name.getName().getValue() << "\" to list axes of the mesh in its order, got " << axis;
      last = at;
    }
    if (!list)
      return emitOpError() << "(C2) expected \"" << name.getName().getValue() << "\" to be a list of axes, got " << name.getValue();
  }
  return success();
}

LogicalResult DeclareOp::verify() {
  auto type = dyn_cast<RankedTensorType>(getType());
  if (!type || !type.hasStaticShape())
    return emitOpError() << "expected a tensor of static shape, got " << getType();
  for (auto [size, what] : {std::pair(getSplit().size(), "split"), std::pair(getValid().size(), "valid")})
    if (int64_t(size) != type.getRank())
      return emitOpError() << "expected one entry of \"" << what << "\" for each of " << type.getRank() << " dims, got " << size;
  for (auto [valid, whole] : llvm::zip(getValid(), type.getShape()))
    if (valid < 1 || valid > whole)
      return emitOpError() << "expected valid sizes between 1 and the dim " << whole << ", got " << valid;
  if (int64_t(getRows()) < 0 || int64_t(getRows()) > type.getRank())
    return emitOpError() << "expected rows between 0 and the rank " << type.getRank() << ", got " << int64_t(getRows());
  return success();
}

/// (C1) of chains and stages: runs of layers, as many counts as runs, and a number of layers that fits a program.
static LogicalResult verifyRuns(Operation *op, ArrayAttr layers, ArrayRef<int64_t> counts) {
  constexpr int64_t limit = 1'000'000;
  if (layers.size() != counts.size())
    return op->emitOpError() << "(C1) expected one count for each run of layers, got " << layers.size() << " runs and " << counts.size() << " counts";
  int64_t total = 0;
  for (auto [layer, count] : llvm::zip(layers, counts)) {
    if (!isa<FlatSymbolRefAttr>(layer) || count < 1)
      return op->emitOpError() << "(C1) expected layer symbols with positive counts, got " << layer << " x " << count;
    if (count > limit || (total += count) > limit)
      return op->emitOpError() << "(C1) expected at most " << limit << " layers, got more";
  }
  return success();
}

LogicalResult ChainOp::verify() {
  constexpr int64_t most = 16; // LF_MAX_DEPTHS
  int64_t depths = getDepths();
  if (getMtp() && (!getFinal() || depths < 1 || depths > most))
    return emitOpError() << "(C2) expected a final norm and 1 to " << most
                         << " depths with multi-token prediction, got depths " << depths
                         << (getFinal() ? "" : " and no final norm");
  return verifyRuns(*this, getLayers(), getCounts());
}

bool StageOp::takesTokens() {
  if (getEmbed() || getHead())
    return true;
  if (ArrayAttr tail = getTailAttr())
    for (ChainOp chain : (*this)->getParentOfType<ModuleOp>().getOps<ChainOp>())
      if (chain.getMtpAttr() && llvm::is_contained(tail, Attribute(chain.getMtpAttr())))
        return true;
  return false;
}

LogicalResult StageOp::verify() {
  if (ArrayAttr tail = getTailAttr())
    for (Attribute body : tail)
      if (!isa<FlatSymbolRefAttr>(body))
        return emitOpError() << "(C2) expected symbols of bodies in tail, got " << body;
  return verifyRuns(*this, getLayers(), getCounts());
}
