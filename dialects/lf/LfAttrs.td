//===- LfAttrs.td - Layouts and roles --------------------------*- tablegen -*-===//
//
// The decisions of the sharding passes, as attributes.
//
//===----------------------------------------------------------------------===//

#ifndef LF_ATTRS_TD
#define LF_ATTRS_TD

include "lf/LfDialect.td"

class Lf_Attr<string name, string mnem> : AttrDef<Lf_Dialect, name> { let mnemonic = mnem; }

def Lf_LayoutAttr : Lf_Attr<"Layout", "layout"> {
  let summary = "where the parts of a value live";
  let description = [{
    For each dim the mesh axes that split it, major to minor; then the axes over which the value is an unfinished sum
    (or max); the axes that split the flattened shard of stored state; and, on parameters only, the axes over which it
    is repeated on purpose.

    ```mlir
    #lf.layout<[{cp, tp}, {dp}, {} ]>               // [S, B, H]: sequence over cp and tp, batch over dp
    #lf.layout<[{}, {tp} ], partial sum {dp}>       // a gradient before sync_grads
    #lf.layout<[{}, {tp_kv}, {} ], closed {tp_rep}> // wk when kv heads < tp
    ```

    Constraints:
    * (L1) an axis occurs at most once in dims, partial and flat;
    * (L2) a dim is a multiple of the product of the sizes of its axes (checked where the mesh is known).
  }];
  // ArrayAttr of ArrayAttr of StringAttr; ArrayAttr of StringAttr.
  let parameters = (ins "::mlir::ArrayAttr":$dims, "::mlir::ArrayAttr":$partial, "bool":$isMax, "::mlir::ArrayAttr":$flat,
                        "::mlir::ArrayAttr":$closed);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The same as the plain C++ core sees it.
    ::lf::Layout getLayout() const;
    ::lf::Axes getClosedAxes() const;
    static LayoutAttr get(::mlir::MLIRContext *context, const ::lf::Layout &layout, const ::lf::Axes &closed = {});
  }];
}

def Lf_RolesAttr : Lf_Attr<"Roles", "roles"> {
  let summary = "the mesh axes that split each factor of one op";
  let description = [{
    `#lf.roles<g = {tp}, s = {cp}>`: factor `g` of the op is split over `tp`. An axis has at most one role in an op.
  }];
  let parameters = (ins "::mlir::DictionaryAttr":$factors); // one letter -> ArrayAttr of StringAttr
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    ::lf::Roles getRoles() const;
    static RolesAttr get(::mlir::MLIRContext *context, const ::lf::Roles &roles);
  }];
}

#endif // LF_ATTRS_TD
