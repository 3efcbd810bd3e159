//===- LowerPipeline.cpp - The phase lf-lower --------------------*- C++ -*-===//
//
// Registration of the passes of LfrtPasses.td and their order.
//
//===----------------------------------------------------------------------===//
#include "lf/Conversion/Conversion.h"

void mlir::lf::buildLowerPipeline(OpPassManager &pm) {
  // First: what it refuses would have no cause to show later.
  pm.addPass(lfrt::createLfVerifyLowerable());
  pm.addPass(lfrt::createLfLowerToRuntime());
  // After any motion of code: offsets follow from the order of ops.
  pm.addPass(lfrt::createLfPlanMemory());
  pm.addPass(lfrt::createLfVerifyLowered());
}
