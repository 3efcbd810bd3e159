//===- SplitBackward.cpp - Weight gradients in a function of their own -*- C++ -*-===//
//
// lf-split-backward: what the returned cotangents need stays in @kind.bwd; accumulations and what only they need become
// @kind.wgrad. What one makes and the other reads crosses by the bundle, in the places of saved values that are dead by
// then: an accumulation that would need one more place stays, so that a bundle is no larger than without the split.
//
//===----------------------------------------------------------------------===//
#include "lf/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::lf {
#define GEN_PASS_DEF_LFSPLITBACKWARD
#include "lf/Dialect/LfPasses.h.inc"
} // namespace mlir::lf

using namespace mlir;
using namespace mlir::lf;

namespace {

bool isInteger(Value v) { return cast<RankedTensorType>(v.getType()).getElementType().isInteger(32); }

/// One function while it is cut in two.
class Split {
public:
  explicit Split(func::FuncOp backward) : backward(backward), builder(backward.getContext()) {}
  /// Yields the number of values that cross.
  int64_t run();

private:
  void keep(Value v);
  bool isMade(Value v); ///< by an op that stays, but for movements of data
  bool isSaved(Value v) const;
  Value source(Value v) const; ///< through collectives over one rank, which move nothing
  bool reads(Value v, Value what); ///< whether what does not stay needs `what` for v
  /// A value that would cross and finds no dead saved value of its size or larger; null: all find one.
  Value withoutPlace();
  bool keepAccumulationsOf(Value v); ///< whether there is one
  Value use(Value v);

  func::FuncOp backward, weight;
  OpBuilder builder;
  llvm::SmallPtrSet<Operation *, 32> kept;
  IRMapping mapping;                       // value of the backward -> value of the weight function
  llvm::SetVector<Value> saved, crossing;  // arguments of the weight function, in this order after the integers
  llvm::SetVector<Value> integers;
};

void Split::keep(Value v) {
  Operation *op = v.getDefiningOp();
  if (!op || !kept.insert(op).second)
    return;
  for (Value operand : op->getOperands())
    keep(operand);
}

bool Split::isMade(Value v) {
  Operation *op = v.getDefiningOp();
  while (op && !kept.contains(op) && isa<CollectiveInterface>(op))
    op = op->getOperand(0).getDefiningOp();
  return op && kept.contains(op) && !isa<ParamOp>(op);
}

bool Split::isSaved(Value v) const {
  auto argument = dyn_cast<BlockArgument>(v);
  return argument && !isInteger(v) &&
         argument.getArgNumber() >= backward->getAttrOfType<IntegerAttr>("lf.cotangents").getInt();
}

Value Split::source(Value v) const {
  MeshOp mesh = MeshOp::find(backward->getParentOfType<ModuleOp>());
  for (auto op = v.getDefiningOp<CollectiveInterface>(); op && mesh; op = v.getDefiningOp<CollectiveInterface>()) {
    if (mesh.getMesh().size(op.getGroupAxes()) != 1)
      break;
    v = op->getOperand(0);
  }
  return v;
}

bool Split::reads(Value v, Value what) {
  if (v == what)
    return true;
  Operation *op = v.getDefiningOp();
  return op && !kept.contains(op) &&
         llvm::any_of(op->getOperands(), [&](Value operand) { return reads(operand, what); });
}

Value Split::withoutPlace() {
  llvm::SetVector<Value> made, read; // what would cross; saved values that the weight function reads
  Block &body = backward.getBody().front();
  for (Operation &op : body.without_terminator())
    if (!kept.contains(&op))
      for (Value operand : op.getOperands()) {
        Operation *maker = operand.getDefiningOp();
        if (isInteger(operand) || (maker && (isa<ParamOp>(maker) || !kept.contains(maker))))
          continue;
        Value from = source(operand);
        (isSaved(from) ? read : made).insert(isSaved(from) ? from : operand);
      }
  using Sized = std::pair<int64_t, size_t>; // bits, number
  auto bits = [](Value v) {
    auto type = cast<RankedTensorType>(v.getType());
    return type.getNumElements() * type.getElementTypeBitWidth();
  };
  SmallVector<Sized> dead, values;
  for (BlockArgument argument : body.getArguments())
    if (isSaved(argument) && !read.contains(argument))
      dead.emplace_back(-bits(argument), argument.getArgNumber());
  for (auto [number, v] : llvm::enumerate(made))
    values.emplace_back(-bits(v), number);
  // If every value finds a place, then also the n-th largest value in the n-th largest place.
  llvm::sort(dead);
  llvm::sort(values);
  for (auto [n, v] : llvm::enumerate(values))
    if (n >= dead.size() || dead[n].first > v.first)
      return made[v.second];
  return {};
}

bool Split::keepAccumulationsOf(Value v) {
  bool any = false;
  for (auto accumulate : backward.getBody().front().getOps<AccumulateOp>())
    if (!kept.contains(accumulate) && reads(accumulate.getGradient(), v)) {
      keep(accumulate.getGradient());
      any |= kept.insert(accumulate).second;
    }
  return any;
}

/// Finds how a value that the weight function reads gets there.
Value Split::use(Value v) {
  if (Value known = mapping.lookupOrNull(v))
    return known;
  Operation *op = v.getDefiningOp();
  // Parameters are there anyway, and parts of integers are cheaper to cut again than to keep.
  if (op && (isa<ParamOp>(op) || isInteger(v))) {
    for (Value operand : op->getOperands())
      use(operand);
    builder.clone(*op, mapping);
    return mapping.lookup(v);
  }
  (isInteger(v) ? integers : isSaved(v) ? saved : crossing).insert(v);
  Value here = weight.getBody().front().addArgument(v.getType(), v.getLoc());
  mapping.map(v, here);
  return here;
}

int64_t Split::run() {
  Block &body = backward.getBody().front();
  Operation *end = body.getTerminator();
  for (Value v : end->getOperands())
    keep(v);
  // A gradient that an op yields beside a cotangent is added at once: it need not be kept.
  for (auto accumulate : body.getOps<AccumulateOp>())
    if (isMade(accumulate.getGradient())) {
      keep(accumulate.getGradient());
      kept.insert(accumulate);
    }
  for (Value v = withoutPlace(); v && keepAccumulationsOf(v); v = withoutPlace())
    ;

  builder.setInsertionPointAfter(backward);
  weight = func::FuncOp::create(builder, backward.getLoc(), (ownerOf(backward) + ".wgrad").str(), builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(&weight.getBody().emplaceBlock());
  SmallVector<Operation *> moved;
  for (Operation &op : body.without_terminator())
    if (!kept.contains(&op)) {
      for (Value operand : op.getOperands())
        use(operand);
      builder.clone(op, mapping);
      moved.push_back(&op);
    }
  func::ReturnOp::create(builder, backward.getLoc());
  // An op that both need for its integers or parameters may have been cloned; what is left here without a use goes.
  for (Operation *op : llvm::reverse(moved))
    op->erase();

  // Integers, saved values, crossing values: arguments in the order of the lowering.
  Block &made = weight.getBody().front();
  SmallVector<DictionaryAttr> attributes;
  SmallVector<Value> order;
  unsigned firstSaved = 0;
  for (BlockArgument argument : body.getArguments()) {
    bool input = backward.getArgAttr(argument.getArgNumber(), "lf.input") != nullptr;
    if (input || argument.getArgNumber() < unsigned(backward->getAttrOfType<IntegerAttr>("lf.cotangents").getInt()))
      firstSaved = argument.getArgNumber() + 1;
  }
  auto append = [&](Value v, ArrayRef<NamedAttribute> attribute) {
    order.push_back(v);
    attributes.push_back(builder.getDictionaryAttr(attribute));
  };
  for (Value v : integers)
    append(v, builder.getNamedAttr("lf.input", backward.getArgAttr(cast<BlockArgument>(v).getArgNumber(), "lf.input")));
  for (Value v : saved)
    append(v, builder.getNamedAttr("lf.saved", builder.getI64IntegerAttr(cast<BlockArgument>(v).getArgNumber() - firstSaved)));
  for (Value v : crossing)
    append(v, {});
  unsigned before = made.getNumArguments();
  for (Value v : order) {
    BlockArgument argument = made.addArgument(v.getType(), v.getLoc());
    mapping.lookup(v).replaceAllUsesWith(argument);
  }
  made.eraseArguments(0, before);
  weight.setFunctionType(builder.getFunctionType(made.getArgumentTypes(), {}));
  weight.setAllArgAttrs(attributes);

  SmallVector<Value> results(end->getOperands());
  results.append(crossing.begin(), crossing.end());
  end->setOperands(results);
  backward.setFunctionType(builder.getFunctionType(body.getArgumentTypes(), ValueRange(results).getTypes()));
  backward->setAttr("lf.crossing", builder.getI64IntegerAttr(crossing.size()));
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (op.use_empty() && isPure(&op) && !op.hasTrait<OpTrait::IsTerminator>())
      op.erase();
  return crossing.size();
}

struct SplitBackward : public mlir::lf::impl::LfSplitBackwardBase<SplitBackward> {
  /// The ends of the chain stay whole: logits, the largest value of all, would live until the last weight pass.
  bool isLayer(StringRef owner) {
    auto chains = getOperation().getOps<ChainOp>();
    return chains.empty() || llvm::any_of((*chains.begin()).getLayers().getAsRange<FlatSymbolRefAttr>(),
                                          [&](FlatSymbolRefAttr layer) { return layer.getValue() == owner; });
  }

  void runOnOperation() override {
    SmallVector<func::FuncOp> functions;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr("lf.cotangents") && isLayer(ownerOf(function)))
        functions.push_back(function);
    if (functions.empty()) {
      getOperation().emitError() << "expected functions \"@*.bwd\", got none: run lf-differentiate first";
      return signalPassFailure();
    }
    int64_t crossed = 0;
    for (func::FuncOp backward : functions) {
      if (backward->hasAttr("lf.crossing")) {
        backward.emitError() << "expected a whole backward, got one whose weight gradients are split off already";
        return signalPassFailure();
      }
      for (auto accumulate : backward.getBody().front().getOps<AccumulateOp>())
        if (!accumulate.getLayoutAttr()) {
          accumulate.emitError() << "expected a layout on each lf.accumulate, got none: run lf-partition first";
          return signalPassFailure();
        }
      crossed += Split(backward).run();
    }
    crossing = crossed;
  }
};

} // namespace
