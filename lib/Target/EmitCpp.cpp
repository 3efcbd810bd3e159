//===- EmitCpp.cpp - lfrt to emitc to C++ ------------------------*- C++ -*-===//
//
// The file in order: include, tables, functions, programs; and the pass that replaces a module by it.
//
//===----------------------------------------------------------------------===//
#include "lf/Target/EmitCpp.h"
#include "Writer.h"
#include "mlir/Target/Cpp/CppEmitter.h"

namespace mlir::lfrt {
#define GEN_PASS_DEF_LFEMITCPP
#include "lf/Dialect/LfrtPasses.h.inc"

/// What the emission reads without asking: tables, and offsets that lf-plan-memory sets.
static LogicalResult verifyPlanned(ModuleOp module) {
  if (module.getOps<ModelOp>().empty() || !findMesh(module))
    return module.emitError() << "expected a module of lfrt, got none; run lf-lower first";
  int64_t parameters = std::distance(module.getOps<ParameterOp>().begin(), module.getOps<ParameterOp>().end());
  for (PlaceOp place : module.getOps<PlaceOp>())
    if (int64_t(place.getParam()) < 0 || int64_t(place.getParam()) >= parameters)
      return place.emitOpError() << "expected one of " << parameters << " parameters, got number " << place.getParam();
  WalkResult slots = module.walk([](SlotOp slot) {
    if (slot.getOffset())
      return WalkResult::advance();
    slot.emitOpError() << "expected an offset, got none; run lf-plan-memory first";
    return WalkResult::interrupt();
  });
  if (slots.wasInterrupted())
    return failure();
  WalkResult runs = module.walk([&](RunOp run) {
    auto action = module.lookupSymbol<FuncOp>(run.getCallee());
    if (action && !action.isBody())
      return WalkResult::advance();
    run.emitOpError() << "expected an action, got @" << run.getCallee();
    return WalkResult::interrupt();
  });
  return failure(runs.wasInterrupted());
}

namespace {
struct EmitCpp : impl::LfEmitCppBase<EmitCpp> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(verifyPlanned(module)))
      return signalPassFailure();
    OwningOpRef<ModuleOp> emitted = lf::buildEmitC(module);
    module.getBody()->clear();
    module.getBody()->getOperations().splice(module.getBody()->begin(), emitted->getBody()->getOperations());
  }
};
} // namespace
} // namespace mlir::lfrt

namespace mlir::lf {

OwningOpRef<ModuleOp> buildEmitC(ModuleOp module) {
  module.getContext()->loadDialect<emitc::EmitCDialect>();
  OwningOpRef<ModuleOp> target = ModuleOp::create(module.getLoc());
  lfrt::Writer w(module, OpBuilder::atBlockEnd(target->getBody()));
  auto name = module->getAttrOfType<StringAttr>("lf.name");
  std::string title = name && !name.getValue().contains('\n') ? ": " + name.getValue().str() : "";
  w.comment("A training program written by lf" + title + ".");
  w.comment("Tables first, then a function for each pass of a layer and each action, then what each pipeline rank does "
            "in a step.");
  emitc::IncludeOp::create(w.b, module.getLoc(), "lf/runtime.h", /*isStandardInclude=*/false);
  w.line();
  lfrt::emitTables(w);
  lfrt::emitFunctions(w);
  lfrt::emitPrograms(w);
  return target;
}

LogicalResult emitCpp(ModuleOp module, raw_ostream &os) { return emitc::translateToCpp(*buildEmitC(module), os); }

} // namespace mlir::lf
