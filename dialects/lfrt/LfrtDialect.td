//===- LfrtDialect.td - The machine ----------------------------*- tablegen -*-===//
//
// What lfrt is, where it stands, and the base class of its ops.
//
//===----------------------------------------------------------------------===//

#ifndef LFRT_DIALECT_TD
#define LFRT_DIALECT_TD

include "mlir/IR/DialectBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"

def Lfrt_Dialect : Dialect {
  let name = "lfrt";
  let cppNamespace = "::mlir::lfrt";
  let summary = "buffers at fixed offsets, streams, launches, communicators: runtime.h as a dialect";
  let description = [{
    Every op is one function (or one table) of `runtime/include/lf/runtime.h`. Values are addresses; what a kernel
    writes,
    it writes through its operands, in order.

    ```
    lf (MPMD)       one ordered program for each pipeline rank, values are tensors
       |  lf-lower-to-runtime: buffers, launches, streams; bundles and messages get their places
    lfrt            workspace slots without offsets
       |  lf-plan-memory: liveness, offsets, peak
    lfrt (planned)
       |  lf-emit-cpp, one op a line
    emitc -> C++
    ```
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

class Lfrt_Op<string mnemonic, list<Trait> traits = []> : Op<Lfrt_Dialect, mnemonic, traits>;

#endif // LFRT_DIALECT_TD
