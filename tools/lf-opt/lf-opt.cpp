//===- lf-opt.cpp - Runs our passes on .mlir ---------------------*- C++ -*-===//
//
// Registers our dialects, passes and pipelines, and those of upstream that they use; nothing else.
//
//===----------------------------------------------------------------------===//
#include "lf/Pipelines/Pipelines.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::lf::registerDialects(registry);
  mlir::lf::registerPassesAndPipelines();
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "lf: compiler for training language models\n", registry));
}
