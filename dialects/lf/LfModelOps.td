//===- LfModelOps.td - Ops of the logical model and their adjoints -*- tablegen -*-===//
//
// Activations are [S, B, ...]; heads are [g, r, d] (kv groups, queries a group, head size). Factor letters of each op
// stand in its description. F1 (a factor has one size) holds for all.
//
//===----------------------------------------------------------------------===//

#ifndef LF_MODEL_OPS_TD
#define LF_MODEL_OPS_TD

include "lf/LfOpBase.td"

def Lf_ActivationKind : StringBasedAttr<CPred<"::llvm::is_contained(::llvm::ArrayRef<::llvm::StringRef>{\"silu\", \"gelu\", \"gelu_tanh\", \"relu\"}, ::llvm::cast<::mlir::StringAttr>($_self).getValue())">,
    "one of \"silu\", \"gelu\", \"gelu_tanh\", \"relu\"">;

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

def Lf_ParamOp : Lf_Op<"param", [Pure]> {
  let summary = "a parameter of this layer";
  let description = [{
    The parameter `name` of `owner` (a layer kind, "embed" or "head"; by default the function that the op stands in)
    for the layer that runs. Declared by `lf.declare`. (C1) it is declared with this type, or with the type whose local
    shape this is.
  }];
  let arguments = (ins StrAttr:$name, OptionalAttr<StrAttr>:$owner);
  let results = (outs Lf_Real:$result);
  let assemblyFormat = "$name (`of` $owner^)? attr-dict `:` type($result)";
}

def Lf_AccumulateOp : Lf_Op<"accumulate"> {
  let summary = "add a gradient to its parameter's accumulator";
  let description = [{
    `layout` (set by lf-partition) says over which axes the gradient is still partial; all accumulations into one
    parameter agree on it.
  }];
  let arguments = (ins Lf_Real:$gradient, StrAttr:$name, OptionalAttr<StrAttr>:$owner, OptionalAttr<Lf_LayoutAttr>:$layout);
  let assemblyFormat = "$gradient `to` $name (`of` $owner^)? attr-dict `:` type($gradient)";
}

//===----------------------------------------------------------------------===//
// Linear algebra, sums
//===----------------------------------------------------------------------===//

def Lf_MatmulOp : Lf_ForwardOp<"matmul", (ins StrAttr:$spec, Lf_Real:$lhs, Lf_Real:$rhs), (outs Lf_Real:$result)> {
  let summary = "a product, as an einsum";
  let description = [{
    `lf.matmul "sbh,hgrd->sbgrd" %n, %wq`. Linear in each operand. (C1) the spec has one letter for each dim of both
    operands and the result. Adjoints are products too.
  }];
  let assemblyFormat = "$spec $lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
}
def Lf_SumOp : Lf_ForwardOp<"sum", (ins Variadic<Lf_Real>:$terms), (outs Lf_Real:$result)> {
  let summary = "an n-ary sum";
  let description = [{
    `x..,x..->x..`. The differentiator emits one sum for each value with several uses (B2). Partition adds terms of equal
    layout first (R2); a partial term may wait for another partial one (P4). (C1) at least two terms.
  }];
}
def Lf_BiasAddOp : Lf_ForwardOp<"bias_add", (ins Lf_Real:$x, Lf_Real:$bias), (outs Lf_Real:$result)> {
  let summary = "x + bias over the last dims";
  let description = "`sbgrd,grd->sbgrd`. (C1) the bias has the shape of the last dims of x.";
}
def Lf_BiasGradOp : Lf_ModelOp<"bias_grad", (ins Lf_Real:$dy), (outs Lf_Real:$dbias)> {
  let summary = "sum over all dims but those of the bias";
  let description = "`sbgrd->grd`, linear.";
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

def Lf_RmsNormOp : Lf_ForwardOp<"rms_norm", (ins Lf_Real:$x, Lf_Real:$weight, F64Attr:$eps), (outs Lf_Real:$result)> {
  let summary = "x / sqrt(mean(x^2) + eps) * weight";
  let description = "`sbh,h->sbh`, or `sbgrd,d->sbgrd` for the q/k norm; the last factor is blocked.";
}
def Lf_RmsNormGradOp : Lf_ModelOp<"rms_norm_grad", (ins Lf_Real:$x, Lf_Real:$weight, Lf_Real:$dy, F64Attr:$eps),
                                  (outs Lf_Real:$dx, Lf_Real:$dweight)> {
  let summary = "adjoint of rms_norm";
  let description = "`sbh,h,sbh->sbh,h`; the last factor is blocked; linear in dy.";
}
def Lf_LayerNormOp : Lf_ForwardOp<"layer_norm", (ins Lf_Real:$x, Lf_Real:$weight, Lf_Real:$bias, F64Attr:$eps), (outs Lf_Real:$result)> {
  let summary = "(x - mean) / sqrt(variance + eps) * weight + bias";
  let description = "`sbh,h,h->sbh`; the last factor is blocked.";
}
def Lf_LayerNormGradOp : Lf_ModelOp<"layer_norm_grad", (ins Lf_Real:$x, Lf_Real:$weight, Lf_Real:$dy, F64Attr:$eps),
                                    (outs Lf_Real:$dx, Lf_Real:$dweight, Lf_Real:$dbias)> {
  let summary = "adjoint of layer_norm";
  let description = "`sbh,h,sbh->sbh,h,h`; the last factor is blocked; linear in dy.";
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

def Lf_RopeOp : Lf_ForwardOp<"rope", (ins Lf_Real:$x, Lf_Int:$positions, DenseF64ArrayAttr:$inv_freq, DefaultValuedAttr<F64Attr, "1.0">:$scale,
                                          UnitAttr:$inverse), (outs Lf_Real:$result)> {
  let summary = "rotary position embedding (halves convention)";
  let description = [{
    `sbgrd,s->sbgrd`; d is blocked; linear in x. `inverse`: the adjoint, a rotation backwards.
    (C1) inv_freq has d/2 entries, d even.
  }];
}
def Lf_AttentionOp : Lf_ForwardOp<"attention", (ins Lf_Real:$q, Lf_Real:$k, Lf_Real:$v, Lf_Int:$query_positions, Lf_Int:$key_positions,
                                               F64Attr:$scale, DefaultValuedAttr<I64Attr, "0">:$window),
                                  (outs Lf_Real:$result, Lf_Real:$lse)> {
  let summary = "causal attention by positions";
  let description = [{
    `sbgrd,tbgd,tbgd,s,t->sbgrd,sbgr`; t and d are blocked. Key j is visible to query i when its position is not later and,
    with `window` > 0, nearer than it. `lse` is kept for the adjoint.
  }];
}
def Lf_AttentionGradOp : Lf_ModelOp<"attention_grad", (ins Lf_Real:$q, Lf_Real:$k, Lf_Real:$v, Lf_Int:$query_positions, Lf_Int:$key_positions,
                                                      Lf_Real:$o, Lf_Real:$lse, Lf_Real:$d_o, F64Attr:$scale, DefaultValuedAttr<I64Attr, "0">:$window),
                                    (outs Lf_Real:$dq, Lf_Real:$dk, Lf_Real:$dv)> {
  let summary = "adjoint of attention";
  let description = "the letters of attention; linear in d_o. With s or r split, dk and dv are partial.";
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

def Lf_ActivationOp : Lf_ForwardOp<"activation", (ins Lf_Real:$x, Lf_ActivationKind:$kind), (outs Lf_Real:$result)> {
  let summary = "silu, gelu, gelu_tanh or relu";
  let description = "`sbf->sbf`.";
}
def Lf_ActivationGradOp : Lf_ModelOp<"activation_grad", (ins Lf_Real:$x, Lf_Real:$dy, Lf_ActivationKind:$kind), (outs Lf_Real:$dx)> {
  let summary = "adjoint of activation";
  let description = "`sbf,sbf->sbf`; linear in dy.";
}
def Lf_GluOp : Lf_ForwardOp<"glu", (ins Lf_Real:$gate, Lf_Real:$up, Lf_ActivationKind:$kind), (outs Lf_Real:$result)> {
  let summary = "activation(gate) * up";
  let description = "`sbf,sbf->sbf`; linear in up.";
}
def Lf_GluGradOp : Lf_ModelOp<"glu_grad", (ins Lf_Real:$gate, Lf_Real:$up, Lf_Real:$dy, Lf_ActivationKind:$kind),
                              (outs Lf_Real:$dgate, Lf_Real:$dup)> {
  let summary = "adjoint of glu";
  let description = "`sbf,sbf,sbf->sbf,sbf`; linear in dy.";
}
def Lf_DropoutOp : Lf_ForwardOp<"dropout", (ins Lf_Real:$x, Lf_Int:$positions, F64Attr:$p, I64Attr:$site), (outs Lf_Real:$result), "bh"> {
  let summary = "dropout by global index";
  let description = [{
    `sbh,s->sbh`; linear in x; its own adjoint. The mask is a function of (seed, step, layer, site, position, sample,
    channel), so every split computes the same. (C1) 0 < p < 1.
  }];
}

//===----------------------------------------------------------------------===//
// Embeddings
//===----------------------------------------------------------------------===//

def Lf_EmbeddingOp : Lf_ForwardOp<"embedding", (ins Lf_Int:$ids, Lf_Real:$table), (outs Lf_Real:$result), "v"> {
  let summary = "rows of a table by id";
  let description = "`sb,vh->sbh`; with v split, rows that are not here are zero and the result is partial. Linear in the table.";
}
def Lf_EmbeddingGradOp : Lf_ModelOp<"embedding_grad", (ins Lf_Int:$ids, Lf_Real:$dy), (outs Lf_Real:$dtable), "v"> {
  let summary = "adjoint of embedding";
  let description = "`sb,sbh->vh`; v is only in the result: the kernel keeps the rows of its own range. Linear in dy.";
}
def Lf_PositionEmbeddingOp : Lf_ForwardOp<"position_embedding", (ins Lf_Real:$x, Lf_Int:$positions, Lf_Real:$table), (outs Lf_Real:$result)> {
  let summary = "x + table[position]";
  let description = "`sbh,s,ph->sbh`; p is blocked.";
}
def Lf_PositionEmbeddingGradOp : Lf_ModelOp<"position_embedding_grad", (ins Lf_Int:$positions, Lf_Real:$dy), (outs Lf_Real:$dtable)> {
  let summary = "adjoint of position_embedding with respect to the table";
  let description = "`s,sbh->ph`; p is blocked; linear in dy.";
}

//===----------------------------------------------------------------------===//
// Loss
//===----------------------------------------------------------------------===//

def Lf_CrossEntropyOp : Lf_ForwardOp<"cross_entropy", (ins Lf_Real:$logits, Lf_Int:$labels, I64Attr:$valid),
                                     (outs Lf_Real:$nll, Lf_Real:$max, Lf_Real:$sum_exp)> {
  let summary = "negative log likelihood of each token";
  let description = [{
    `sbv,sb->sb,sb,sb`. Columns from `valid` on are padding and never count; labels below 0 are ignored. One op with one
    adjoint; lf-expand-cross-entropy makes row_max, sum_exp, pick and nll of it before propagation, so that a split
    vocabulary needs no rule of its own.
  }];
}
def Lf_CrossEntropyGradOp : Lf_ModelOp<"cross_entropy_grad", (ins Lf_Real:$logits, Lf_Real:$max, Lf_Real:$sum_exp, Lf_Int:$labels, Lf_Real:$dnll,
                                                              I64Attr:$valid), (outs Lf_Real:$dlogits), "v"> {
  let summary = "adjoint of cross_entropy";
  let description = "`sbv,sb,sb,sb,sb->sbv`; linear in dnll.";
}
def Lf_RowMaxOp : Lf_ModelOp<"row_max", (ins Lf_Real:$logits, I64Attr:$valid), (outs Lf_Real:$result), "v"> {
  let summary = "maximum over the vocabulary";
  let description = "`sbv->sb`; with v split the result is partial of kind max.";
}
def Lf_SumExpOp : Lf_ModelOp<"sum_exp", (ins Lf_Real:$logits, Lf_Real:$max, I64Attr:$valid), (outs Lf_Real:$result), "v"> {
  let summary = "sum of exp(logits - max) over the vocabulary";
  let description = "`sbv,sb->sb`.";
}
def Lf_PickOp : Lf_ModelOp<"pick", (ins Lf_Real:$logits, Lf_Int:$labels), (outs Lf_Real:$result), "v"> {
  let summary = "the label's logit, or 0 where it is not here";
  let description = "`sbv,sb->sb`.";
}
def Lf_NllOp : Lf_ModelOp<"nll", (ins Lf_Real:$sum_exp, Lf_Real:$max, Lf_Real:$target, Lf_Int:$labels), (outs Lf_Real:$result)> {
  let summary = "log(sum_exp) + max - target, or 0 where the label is ignored";
  let description = "`sb,sb,sb,sb->sb`.";
}
def Lf_SumAllOp : Lf_ForwardOp<"sum_all", (ins Lf_Real:$x), (outs Lf_Real:$result)> {
  let summary = "sum of all elements";
  let description = "`sb->`; linear.";
}
def Lf_CountOp : Lf_ModelOp<"count", (ins Lf_Int:$labels), (outs Lf_Real:$result)> {
  let summary = "number of labels that count";
  let description = "`sb->`.";
}
def Lf_DepthLossOp : Lf_ForwardOp<"depth_loss", (ins Lf_Real:$x, I64Attr:$depth, F64Attr:$share),
                                  (outs Lf_Real:$result)> {
  let summary = "the loss sum of one depth of multi-token prediction";
  let description = [{
    `->`, linear. x itself; its adjoint is lf.depth_weight. So the forward reports the plain sum, and what flows back is the
    gradient of the weighted mean (docs/rationale/mtp.md).
  }];
}
def Lf_DepthWeightOp : Lf_ModelOp<"depth_weight", (ins Lf_Real:$dy, I64Attr:$depth, F64Attr:$share),
                                  (outs Lf_Real:$dx)> {
  let summary = "adjoint of depth_loss: dy times the weight of the depth in this step";
  let description = [{
    `->`, linear. The weight is share x (labels of the step) / (labels of the depth in the step); `share` is factor / depths.
  }];
}
def Lf_BroadcastOp : Lf_ModelOp<"broadcast", (ins Lf_Real:$x), (outs Lf_Real:$result)> {
  let summary = "a scalar everywhere";
  let description = "`->sb`; linear.";
}
def Lf_FillOp : Lf_ModelOp<"fill", (ins F64Attr:$value), (outs Lf_Real:$result)> {
  let summary = "a constant";
  let description = "the cotangent of the loss sum is `lf.fill {value = 1.0}`.";
}

#endif // LF_MODEL_OPS_TD
