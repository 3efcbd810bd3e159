//===- Lfrt.h - The lfrt dialect in C++ -----------------------------------===//
//
// Dialect, types, attributes, ops and the table of kernels; dialects/lfrt has their documentation.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"

#include "lf/Dialect/LfrtDialect.h.inc"
#define GET_TYPEDEF_CLASSES
#include "lf/Dialect/LfrtTypes.h.inc"
#define GET_ATTRDEF_CLASSES
#include "lf/Dialect/LfrtAttrs.h.inc"
#define GET_OP_CLASSES
#include "lf/Dialect/LfrtOps.h.inc"

namespace mlir::lfrt {

/// A kernel of runtime.h. `args` has one letter for each constant: i int64, n int32, f double, a activation, v array of
/// doubles, o offset that may depend on the rank (or an int64). inputs = -1: an array of any number of them.
struct Kernel {
  StringRef name;
  int inputs, outputs;
  StringRef args;
  bool typed = false; ///< the last argument is the dtype of the output
};
/// Null for a name that runtime.h lacks.
const Kernel *findKernel(StringRef name);

/// The module's mesh, or null.
MeshOp findMesh(Operation *inside);
/// Product of the sizes of these axes; axes that the mesh lacks count as 1.
int64_t sizeOf(MeshOp mesh, ArrayAttr axes);
/// The communicator of that name, or null.
CommOp findComm(Operation *inside, StringRef name);

} // namespace mlir::lfrt
