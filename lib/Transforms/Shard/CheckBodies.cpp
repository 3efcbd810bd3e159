//===- CheckBodies.cpp - What the sharding passes rely on -------*- C++ -*-===//
//
// See CheckBodies.h. A user's own IR reaches the passes through lf-opt; it is refused here, not asserted on later.
//
//===----------------------------------------------------------------------===//
#include "CheckBodies.h"

using namespace mlir;
using namespace mlir::lf;

static bool isTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() && (isa<Float32Type, Float64Type, BFloat16Type>(tensor.getElementType()) || tensor.getElementType().isInteger(32));
}
static bool isInteger(Value v) { return cast<RankedTensorType>(v.getType()).getElementType().isInteger(32); }

/// The integer attribute `name` of a function, from 0 to `limit`.
static FailureOr<int64_t> count(func::FuncOp function, StringRef name, int64_t limit) {
  auto attribute = function->getAttrOfType<IntegerAttr>(name);
  if (attribute && attribute.getInt() >= 0 && attribute.getInt() <= limit)
    return attribute.getInt();
  InFlightDiagnostic diag = function.emitError() << "expected \"" << name << "\" to be a number from 0 to " << limit << ", got ";
  if (Attribute other = function->getAttr(name))
    diag << other;
  else
    diag << "none";
  return diag;
}

static LogicalResult checkOp(Operation &op, bool forward, DenseSet<int64_t> &ids) {
  for (Type type : llvm::concat<const Type>(SmallVector<Type>(op.getOperandTypes()), SmallVector<Type>(op.getResultTypes())))
    if (!isTensor(type))
      return op.emitError() << "expected tensors of static shape in a layer body, got " << type;
  if (isa<func::ReturnOp>(op))
    return success();
  StringRef name;
  std::optional<StringRef> owner;
  if (auto param = dyn_cast<ParamOp>(op)) {
    name = param.getName();
    owner = param.getOwner();
  } else if (auto accumulate = dyn_cast<AccumulateOp>(op); accumulate && !forward) {
    name = accumulate.getName();
    owner = accumulate.getOwner();
  } else if (isa<ShardingRuleInterface>(op)) {
    if (auto id = op.getAttrOfType<IntegerAttr>("id"); id && forward && !ids.insert(id.getInt()).second)
      return op.emitError() << "expected each op of a body to have a number of its own, got \"id\" " << id.getInt() << " twice";
    return success();
  } else {
    return op.emitError() << "expected a model op in a layer body, got \"" << op.getName() << "\"";
  }
  DeclareOp declare = DeclareOp::find(&op, owner.value_or(ownerOf(&op)), name);
  if (!declare)
    return op.emitError() << "expected a declaration of parameter \"" << owner.value_or(ownerOf(&op)) << "." << name << "\", got none";
  bool gradient = isa<AccumulateOp>(op);
  Type type = gradient ? op.getOperand(0).getType() : op.getResult(0).getType();
  auto declared = dyn_cast<RankedTensorType>(declare.getType());
  if (declare.getType() != type && !(gradient && declared && type == declared.clone(mainTypeOf(declared.getElementType()))))
    return op.emitError() << "(C1) expected parameter \"" << declare.getOwner() << "." << name << "\" of type " << declare.getType() << ", got " << type;
  return success();
}

static LogicalResult checkBody(func::FuncOp function, bool forward) {
  if (function.isExternal() || !function.getBody().hasOneBlock())
    return function.emitError() << "expected a body of one block, got " << function.getBody().getBlocks().size();
  Block &body = function.getBody().front();
  if (!isa<func::ReturnOp>(body.getTerminator()))
    return function.emitError() << "expected a body that ends in a return, got \"" << body.getTerminator()->getName() << "\"";
  for (BlockArgument argument : body.getArguments()) {
    unsigned i = argument.getArgNumber();
    if (!isTensor(argument.getType()))
      return function.emitError() << "expected tensors of static shape as arguments, got " << argument.getType();
    for (StringRef name : {"lf.input", "lf.link"})
      if (Attribute attribute = function.getArgAttr(i, name); attribute && !isa<StringAttr>(attribute))
        return function.emitError() << "expected \"" << name << "\" of argument " << i << " to be a string, got " << attribute;
    Attribute attribute = function.getArgAttr(i, "lf.layout");
    if (!attribute)
      continue;
    auto layout = dyn_cast<LayoutAttr>(attribute);
    int64_t rank = cast<RankedTensorType>(argument.getType()).getRank();
    if (!layout || int64_t(layout.getDims().size()) != rank)
      return function.emitError() << "expected \"lf.layout\" of argument " << i << " to be a layout of " << rank << " dims, got " << attribute;
  }
  DenseSet<int64_t> ids;
  for (Operation &op : body)
    if (failed(checkOp(op, forward, ids)))
      return failure();
  return success();
}

static LogicalResult checkPair(func::FuncOp forward) {
  if (failed(checkBody(forward, true)))
    return failure();
  Operation *returned = forward.getBody().front().getTerminator();
  FailureOr<int64_t> outputs = count(forward, "lf.outputs", returned->getNumOperands());
  if (failed(outputs))
    return failure();
  auto backward = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(forward->getParentOp(),
                                                                     StringAttr::get(forward.getContext(), (ownerOf(forward) + ".bwd").str()));
  if (!backward)
    return success();
  if (failed(checkBody(backward, false)))
    return failure();
  FailureOr<int64_t> cotangents = count(backward, "lf.cotangents", backward.getNumArguments());
  if (failed(cotangents))
    return failure();
  OperandRange saved = returned->getOperands().drop_front(*outputs);
  if (*cotangents + int64_t(saved.size()) > int64_t(backward.getNumArguments()))
    return backward.emitError() << "expected at least " << *cotangents + saved.size() << " arguments (" << *cotangents << " cotangents and " << saved.size()
                                << " saved values), got " << backward.getNumArguments();
  unsigned firstSaved = backward.getNumArguments() - saved.size();
  for (unsigned i = *cotangents; i < firstSaved; ++i)
    if (!isInteger(backward.getArgument(i)))
      return backward.emitError() << "expected argument " << i << " to be an integer input, got " << backward.getArgument(i).getType();
  for (auto [i, value] : llvm::enumerate(saved))
    if (backward.getArgument(firstSaved + i).getType() != value.getType())
      return backward.emitError() << "expected argument " << firstSaved + i << " to be saved value " << i << " of type " << value.getType() << ", got "
                                  << backward.getArgument(firstSaved + i).getType();
  return success();
}

LogicalResult mlir::lf::checkBodies(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr("lf.outputs") && failed(checkPair(function)))
      return failure();
  return success();
}
