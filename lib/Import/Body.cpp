//===- Body.cpp - Emitting one function of the logical program ---*- C++ -*-===//
//
// Result types follow from operands; names become locations.
//
//===----------------------------------------------------------------------===//
#include "Body.h"

using namespace mlir;
using namespace mlir::lf;

Operation *Body::ops(StringRef mnemonic, StringRef what, TypeRange types, ValueRange operands,
                     ArrayRef<NamedAttribute> attributes) {
  OperationState state(NameLoc::get(b.getStringAttr(what)), ("lf." + mnemonic).str());
  state.addTypes(types);
  state.addOperands(operands);
  state.addAttributes(attributes);
  return b.create(state);
}

Value Body::op(StringRef mnemonic, StringRef what, Type type, ValueRange operands,
               ArrayRef<NamedAttribute> attributes) {
  return ops(mnemonic, what, type, operands, attributes)->getResult(0);
}

Value Body::param(StringRef name, StringRef of) {
  std::string key = (of.empty() ? Twine(prefix) + name : Twine(name)).str();
  DeclareOp declaration =
      DeclareOp::find(b.getInsertionBlock()->getParentOp(), of.empty() ? StringRef(owner) : of, key);
  assert(declaration && "parametersOf and the bodies disagree");
  SmallVector<NamedAttribute> attributes{attribute("name", key)};
  if (!of.empty())
    attributes.push_back(attribute("owner", of));
  return op("param", name, declaration.getType(), {}, attributes);
}

Value Body::matmul(StringRef what, StringRef spec, Value x, Value w) {
  auto [inputs, result] = spec.split("->");
  auto [lhs, rhs] = inputs.split(',');
  SmallVector<int64_t> shape;
  for (char factor : result)
    shape.push_back(lhs.contains(factor) ? cast<RankedTensorType>(x.getType()).getDimSize(lhs.find(factor))
                                         : cast<RankedTensorType>(w.getType()).getDimSize(rhs.find(factor)));
  return op("matmul", what, real(shape), {x, w}, attribute("spec", spec));
}

Value Body::bias(StringRef what, Value x, StringRef parameter) {
  return op("bias_add", what, x.getType(), {x, param(parameter)});
}
