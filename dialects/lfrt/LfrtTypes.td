//===- LfrtTypes.td - Addresses, events, offsets ---------------*- tablegen -*-===//
//
// Types of values and the attributes that name places in memory.
//
//===----------------------------------------------------------------------===//

#ifndef LFRT_TYPES_TD
#define LFRT_TYPES_TD

include "lfrt/LfrtDialect.td"

def Lfrt_Buffer : TypeDef<Lfrt_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "address of `count` dense elements";
  let description = "`!lfrt.buffer<f32 x 4096>`; the element is f32, f64, bf16 or i32, and the count at least 1.";
  let parameters = (ins "::mlir::Type":$element, "int64_t":$count);
  let assemblyFormat = "`<` $element `x` $count `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Bytes of the elements.
    int64_t getBytes() const { return getCount() * (getElement().getIntOrFloatBitWidth() / 8); }
  }];
}

def Lfrt_Event : TypeDef<Lfrt_Dialect, "Event"> {
  let mnemonic = "event";
  let summary = "lf_event: what a stream had issued when it was recorded";
}

def Lfrt_CoordinateAttr : AttrDef<Lfrt_Dialect, "Coordinate"> {
  let mnemonic = "coordinate";
  let summary = "lf_coordinate(axes) * scale";
  let description = "`#lfrt.coordinate<[\"tp\"] * 1024>`: where the part of this rank begins.";
  let parameters = (ins "::mlir::ArrayAttr":$axes, "int64_t":$scale);
  let assemblyFormat = "`<` $axes `*` $scale `>`";
}

def Lfrt_SpotAttr : AttrDef<Lfrt_Dialect, "Spot"> {
  let mnemonic = "spot";
  let summary = "a byte of the arena \"saved\" or \"workspace\"";
  let parameters = (ins "::mlir::StringAttr":$arena, "int64_t":$offset);
  let assemblyFormat = "`<` $arena `at` $offset `>`";
  let genVerifyDecl = 1;
}

#endif // LFRT_TYPES_TD
