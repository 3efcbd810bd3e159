//===- LfrtTableOps.td - The tables of lf_program --------------*- tablegen -*-===//
//
// What the program states about itself before it runs. Axes are names here and bit masks in runtime.h.
//
//===----------------------------------------------------------------------===//

#ifndef LFRT_TABLE_OPS_TD
#define LFRT_TABLE_OPS_TD

include "lfrt/LfrtTypes.td"

def Lfrt_MeshOp : Lfrt_Op<"mesh"> {
  let summary = "lf_axis[], and pp, dp, cp, tp of lf_program";
  let description = "As lf.mesh. (C1) one size for each axis, at most 12 axes.";
  let arguments = (ins StrArrayAttr:$axes, DenseI64ArrayAttr:$sizes, DictionaryAttr:$names);
  let assemblyFormat = "`axes` $axes `sizes` $sizes `names` $names attr-dict";
  let hasVerifier = 1;
}

def Lfrt_ModelOp : Lfrt_Op<"model"> {
  let summary = "the sizes of lf_program";
  let description = "`dtype`, whole sequence, samples and micro-batches of a rank, vocabulary without padding, layers, depths of MTP.";
  let arguments = (ins TypeAttr:$dtype, I64Attr:$seq_length, I64Attr:$micro_batch, I64Attr:$micro_batches,
                      I64Attr:$vocab, I64Attr:$layers, DefaultValuedAttr<I64Attr, "0">:$mtp_depths);
  let assemblyFormat = "$dtype attr-dict";
}

def Lfrt_CommOp : Lfrt_Op<"comm"> {
  let summary = "lf_comm: a communicator and its stream";
  let description = "The n-th lf_comm of the module is communicator n and stream 1 + n. (C1) its axes are in the mesh.";
  let arguments = (ins StrAttr:$name, StrArrayAttr:$axes);
  let assemblyFormat = "$name `axes` $axes attr-dict";
  let hasVerifier = 1;
}

def Lfrt_ParameterOp : Lfrt_Op<"parameter"> {
  let summary = "lf_param";
  let description = [{
    `split` has the axes of each dim. (C1) shape, valid and split have one entry for each of at most 6 dims.
  }];
  let arguments = (ins StrAttr:$owner, StrAttr:$name, DenseI64ArrayAttr:$shape, DenseI64ArrayAttr:$valid,
                       ArrayAttr:$split, I64Attr:$rows, UnitAttr:$transposed, StrAttr:$hf_name, I64Attr:$hf_col, I64Attr:$hf_cols,
                       DefaultValuedAttr<I64Attr, "0">:$hf_row, DefaultValuedAttr<I64Attr, "0">:$hf_rows, UnitAttr:$optional,
                       UnitAttr:$decay,
                       StrAttr:$init, F64Attr:$std);
  let assemblyFormat = "$owner $name `shape` $shape attr-dict";
  let hasVerifier = 1;
}

def Lfrt_PlaceOp : Lfrt_Op<"place"> {
  let summary = "lf_place";
  let description = "`param` is the number of the lfrt.parameter; offsets and strides are elements.";
  let arguments = (ins I64Attr:$param, I64Attr:$pp, I64Attr:$first, I64Attr:$count, I64Attr:$offset, I64Attr:$stride,
                      UnitAttr:$copy);
  let assemblyFormat = "$param `pp` $pp `layers` $first `count` $count `at` $offset `stride` $stride (`copy` $copy^)? "
                       "attr-dict";
}

def Lfrt_RegionOp : Lfrt_Op<"region"> {
  let summary = "lf_region";
  let description = "`comm` names the communicator over which the gradient is still partial.";
  let arguments = (ins I64Attr:$pp, I64Attr:$offset, I64Attr:$count, OptionalAttr<StrAttr>:$comm,
                      StrArrayAttr:$owned, UnitAttr:$decay, UnitAttr:$copy);
  let assemblyFormat = "`pp` $pp `at` $offset `count` $count (`comm` $comm^)? `owned` $owned (`decay` $decay^)? "
                       "(`copy` $copy^)? attr-dict";
}

def Lfrt_MessageOp : Lfrt_Op<"message"> {
  let summary = "lf_message: a channel between two pipeline ranks";
  let description = [{
    `lfrt.message 0 to 1 tag 2 : !lfrt.buffer<f32 x 4096>`: the type is that of the largest message. One for each
    lfrt.send of a program, made by lf-lower-to-runtime. (C1) two different ranks, and a tag of 0 or more.
  }];
  let arguments = (ins I64Attr:$from, I64Attr:$to, I64Attr:$tag, TypeAttrOf<Lfrt_Buffer>:$type);
  let assemblyFormat = "$from `to` $to `tag` $tag `:` $type attr-dict";
  let hasVerifier = 1;
}

def Lfrt_MemoryOp : Lfrt_Op<"memory"> {
  let summary = "lf_memory: bytes of one pipeline rank";
  let description = [{
    `base` is what lies below the bodies' workspace (positions, messages, cotangents). lf-plan-memory adds `workspace`;
    `staging` is what the rank takes on a GPU beside its arenas, and `driver` what the driver and NCCL take there; 0 on the cpu.
    `planned` = saved + workspace; and `live`, the bytes alive at the worst line: no plan can need less.
  }];
  let arguments = (ins I64Attr:$pp, I64Attr:$parameters, I64Attr:$gradients, I64Attr:$optimizer, I64Attr:$saved,
                      I64Attr:$base,
                       OptionalAttr<I64Attr>:$workspace, OptionalAttr<I64Attr>:$planned, OptionalAttr<I64Attr>:$live,
                       DefaultValuedAttr<I64Attr, "0">:$staging, DefaultValuedAttr<I64Attr, "0">:$driver);
  let assemblyFormat = "`pp` $pp attr-dict";
}

#endif // LFRT_TABLE_OPS_TD
