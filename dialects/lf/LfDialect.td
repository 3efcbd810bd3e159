//===- LfDialect.td - The dialect that people read -------------*- tablegen -*-===//
//
// The chain of levels that `lf` sits in, and the base classes of its definitions.
//
//===----------------------------------------------------------------------===//

#ifndef LF_DIALECT_TD
#define LF_DIALECT_TD

include "mlir/IR/DialectBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"

def Lf_Dialect : Dialect {
  let name = "lf";
  let cppNamespace = "::mlir::lf";
  let summary = "training programs of language models: model ops, collectives, pipeline ops";
  let description = [{
    Values are tensors of one element type (`f32`, `f64`, `bf16`) or of `i32` (ids, labels, positions). The same ops
    are used at every level; what changes is what is attached to them:

    ```
    logical    one device, whole shapes                       lf-import makes it
       |  lf-differentiate: @kind -> @kind.fwd, @kind.bwd; lf-expand-cross-entropy
    training   still one device; `id`, `of` and `links` tie the backward to the forward
       |  lf-annotate: lf.mesh, `layout` on lf.declare and on stream values
       |  lf-propagate: `homes` and `roles` on every op
    sharded    whole shapes, every layout decided
       |  lf-partition: local shapes, explicit collectives; `homes` and `roles` are gone, `shards` tells kernels their range
    SPMD       one program for all ranks of a stage
       |  lf-assign-stages, lf-build-schedule: lf.stage, lf.program
    MPMD       one ordered program for each pipeline rank
       |  lf-lower-to-runtime
    lfrt
    ```

    An op's parallel behaviour is stated once, as factors (one letter for each dim of each operand and result), by the
    interface `ShardingRuleInterface`; propagation and partition know no op by name.
  }];
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

#endif // LF_DIALECT_TD
