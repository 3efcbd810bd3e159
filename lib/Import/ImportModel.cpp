//===- ImportModel.cpp - A model as a logical program ------------*- C++ -*-===//
//
// Declarations, the chain, and one body each for the embedding, every layer kind and the head.
//
//===----------------------------------------------------------------------===//
#include "lf/Import/ImportModel.h"
#include "Body.h"
#include "lf/Model/Parameters.h"

using namespace mlir;
using namespace mlir::lf;

namespace {

/// Numbers of dropout's three places in the model; part of the mask's counter, so never renumber them.
enum DropoutSite : int64_t { afterEmbedding = 0, afterAttention = 1, afterMlp = 2 };

struct Importer {
  Importer(MLIRContext &context, const ::lf::ModelConfig &model, const ::lf::ParallelPlan &plan)
      : model(model), plan(plan), b(&context), S(plan.seqLength), B(plan.microBatch * plan.dp) {
    element = plan.dtype == ::lf::Dtype::f32   ? Type(b.getF32Type())
              : plan.dtype == ::lf::Dtype::f64 ? Type(b.getF64Type())
                                               : Type(b.getBF16Type());
  }

  OwningOpRef<ModuleOp> run();

  void declare(const ::lf::Parameter &parameter);
  void chain();
  /// Opens @owner(x or ids, integers...) -> results; `fill` emits its body from the arguments.
  void function(StringRef owner, ArrayRef<std::pair<Type, StringRef>> arguments, TypeRange results,
                llvm::function_ref<SmallVector<Value>(Body &, ValueRange)> fill);

  Value norm(Body &f, StringRef name, Value x);
  Value dropout(Body &f, StringRef what, Value x, Value positions, DropoutSite site);
  Value attentionInput(Body &f, StringRef name, StringRef spec, Value x, Value positions);
  Value attention(Body &f, Value x, Value positions, const ::lf::LayerKind &kind);
  Value mlp(Body &f, Value x);
  SmallVector<Value> embed(Body &f, Value ids, Value positions);
  SmallVector<Value> layer(Body &f, Value x, Value positions, const ::lf::LayerKind &kind);
  SmallVector<Value> loss(Body &f, Value n, Value labels, StringRef headOwner);
  SmallVector<Value> head(Body &f, Value x, Value labels);
  SmallVector<Value> mtp(Body &f, ValueRange arguments);

  StringRef activation() const {
    switch (model.activation) {
    case ::lf::Activation::silu:
      return "silu";
    case ::lf::Activation::gelu:
      return "gelu";
    case ::lf::Activation::geluTanh:
      return "gelu_tanh";
    case ::lf::Activation::relu:
      return "relu";
    }
    llvm_unreachable("unknown activation");
  }

  const ::lf::ModelConfig &model;
  const ::lf::ParallelPlan &plan;
  OpBuilder b;
  int64_t S, B;
  Type element;
  int64_t firstSite = 0; ///< of dropout in the function at hand: depths of MTP are not told apart by a layer number
};

StringRef nameOf(::lf::Split split) {
  switch (split) {
  case ::lf::Split::none:
    return "";
  case ::lf::Split::tp:
    return "tp";
  case ::lf::Split::tpKv:
    return "tp_kv";
  case ::lf::Split::tpRep:
    return "tp_rep";
  }
  llvm_unreachable("unknown split");
}

StringRef nameOf(::lf::Init init) {
  return init == ::lf::Init::zeros ? "zeros" : init == ::lf::Init::ones ? "ones" : "normal";
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

OwningOpRef<ModuleOp> Importer::run() {
  OwningOpRef<ModuleOp> module = ModuleOp::create(NameLoc::get(b.getStringAttr(model.family)));
  b.setInsertionPointToEnd(module->getBody());
  std::vector<std::string> owners{"embed"};
  for (const ::lf::LayerKind &kind : model.kinds)
    owners.push_back(kind.name);
  if (model.mtpDepths > 0)
    owners.insert(owners.end(), {"final", "mtp"});
  owners.push_back("head");
  for (const std::string &owner : owners)
    for (const ::lf::Parameter &parameter : ::lf::parametersOf(model, owner))
      declare(parameter);
  chain();

  auto x = RankedTensorType::get({S, B, model.hidden}, element), scalar = RankedTensorType::get({}, element);
  auto tokens = RankedTensorType::get({S, B}, b.getI32Type()), positions = RankedTensorType::get({S}, b.getI32Type());
  function("embed", {{tokens, "ids"}, {positions, "positions"}}, x,
           [&](Body &f, ValueRange arguments) { return embed(f, arguments[0], arguments[1]); });
  for (const ::lf::LayerKind &kind : model.kinds)
    function(kind.name, {{x, ""}, {positions, "positions"}}, x,
             [&](Body &f, ValueRange arguments) { return layer(f, arguments[0], arguments[1], kind); });
  if (model.mtpDepths > 0) {
    function("final", {{x, ""}}, x, [&](Body &f, ValueRange arguments) -> SmallVector<Value> {
      return {norm(f, "final_norm", arguments[0])};
    });
    std::vector<std::string> names; // outlive the arguments
    for (int64_t shift = 1; shift <= model.mtpDepths; ++shift)
      names.insert(names.end(), {"ids_" + std::to_string(shift), "labels_" + std::to_string(shift)});
    SmallVector<std::pair<Type, StringRef>> arguments{{x, ""}, {positions, "positions"}};
    for (const std::string &name : names)
      arguments.emplace_back(tokens, name);
    SmallVector<Type> results{x};
    results.append(2 * model.mtpDepths, scalar);
    function("mtp", arguments, results, [&](Body &f, ValueRange values) { return mtp(f, values); });
  }
  function("head", {{x, ""}, {tokens, "labels"}}, {scalar, scalar},
           [&](Body &f, ValueRange arguments) { return head(f, arguments[0], arguments[1]); });
  return module;
}

void Importer::declare(const ::lf::Parameter &parameter) {
  SmallVector<int64_t> padded(ArrayRef<int64_t>(parameter.shape));
  if (parameter.vocabDim >= 0)
    padded[parameter.vocabDim] = plan.paddedVocab;
  SmallVector<StringRef> split, closed;
  for (::lf::Split dim : parameter.split)
    split.push_back(nameOf(dim));
  if (parameter.closedOverRep)
    closed.push_back("tp_rep");
  OperationState state(NameLoc::get(b.getStringAttr(parameter.name)), DeclareOp::getOperationName());
  state.addAttribute("owner", b.getStringAttr(parameter.owner));
  state.addAttribute("name", b.getStringAttr(parameter.name));
  state.addAttribute("type", TypeAttr::get(RankedTensorType::get(padded, element)));
  state.addAttribute("split", b.getStrArrayAttr(split));
  state.addAttribute("closed", b.getStrArrayAttr(closed));
  state.addAttribute("hf_name", b.getStringAttr(parameter.hfName));
  state.addAttribute("valid", b.getDenseI64ArrayAttr(parameter.shape));
  state.addAttribute("rows", b.getI64IntegerAttr(parameter.rowDims));
  if (parameter.hfTransposed)
    state.addAttribute("transposed", b.getUnitAttr());
  state.addAttribute("hf_col", b.getI64IntegerAttr(parameter.hfCol));
  state.addAttribute("hf_cols", b.getI64IntegerAttr(parameter.hfCols));
  if (parameter.hfRows > 0) {
    state.addAttribute("hf_row", b.getI64IntegerAttr(parameter.hfRow));
    state.addAttribute("hf_rows", b.getI64IntegerAttr(parameter.hfRows));
  }
  if (parameter.optional)
    state.addAttribute("optional", b.getUnitAttr());
  if (parameter.decay)
    state.addAttribute("decay", b.getUnitAttr());
  state.addAttribute("init", b.getStringAttr(nameOf(parameter.init)));
  state.addAttribute("std", b.getF64FloatAttr(parameter.initStd));
  b.create(state);
}

void Importer::chain() {
  SmallVector<Attribute> layers;
  SmallVector<int64_t> counts;
  int last = -1;
  for (int kind : model.kindOfLayer) {
    if (kind != last) {
      layers.push_back(FlatSymbolRefAttr::get(b.getStringAttr(model.kinds[kind].name)));
      counts.push_back(0);
    }
    ++counts.back();
    last = kind;
  }
  OperationState state(NameLoc::get(b.getStringAttr("layers")), ChainOp::getOperationName());
  state.addAttribute("embed", FlatSymbolRefAttr::get(b.getStringAttr("embed")));
  state.addAttribute("layers", b.getArrayAttr(layers));
  state.addAttribute("counts", b.getDenseI64ArrayAttr(counts));
  if (model.mtpDepths > 0) {
    state.addAttribute("final", FlatSymbolRefAttr::get(b.getStringAttr("final")));
    state.addAttribute("mtp", FlatSymbolRefAttr::get(b.getStringAttr("mtp")));
    state.addAttribute("depths", b.getI64IntegerAttr(model.mtpDepths));
  }
  state.addAttribute("head", FlatSymbolRefAttr::get(b.getStringAttr("head")));
  b.create(state);
}

void Importer::function(StringRef owner, ArrayRef<std::pair<Type, StringRef>> arguments, TypeRange results,
                        llvm::function_ref<SmallVector<Value>(Body &, ValueRange)> fill) {
  SmallVector<Type> types;
  for (const auto &argument : arguments)
    types.push_back(argument.first);
  Location loc = NameLoc::get(b.getStringAttr(owner));
  auto function = func::FuncOp::create(b, loc, owner, b.getFunctionType(types, results));
  for (auto [index, argument] : llvm::enumerate(arguments))
    if (!argument.second.empty())
      function.setArgAttr(index, "lf.input", b.getStringAttr(argument.second));
  OpBuilder::InsertionGuard guard(b);
  Block *entry = b.createBlock(&function.getBody());
  for (auto [type, input] : arguments)
    entry->addArgument(type, NameLoc::get(b.getStringAttr(input.empty() ? "x" : input)));
  Body body(b, owner, element);
  SmallVector<Value> values = fill(body, entry->getArguments());
  func::ReturnOp::create(b, loc, values);
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

Value Importer::norm(Body &f, StringRef name, Value x) {
  NamedAttribute eps = f.attribute("eps", model.normEps);
  if (model.norm == ::lf::Norm::rms)
    return f.op("rms_norm", name, x.getType(), {x, f.param(name)}, eps);
  return f.op("layer_norm", name, x.getType(), {x, f.param(name), f.param((name + "_bias").str())}, eps);
}

Value Importer::dropout(Body &f, StringRef what, Value x, Value positions, DropoutSite site) {
  if (plan.hiddenDropout <= 0.0)
    return x;
  return f.op("dropout", what, x.getType(), {x, positions},
              {f.attribute("p", plan.hiddenDropout), f.attribute("site", firstSite + site)});
}

/// A projection to heads: product, bias, and, for queries and keys, the norm of each head and the rotation.
Value Importer::attentionInput(Body &f, StringRef name, StringRef spec, Value x, Value positions) {
  Value y = f.matmul(name, spec, x, f.param(name));
  if (model.qkvBias)
    y = f.bias(name, y, (name + "_bias").str());
  if (name == "v")
    return y;
  if (model.qkNorm) {
    std::string norm = (name + "_norm").str();
    y = f.op("rms_norm", norm, y.getType(), {y, f.param(norm)}, f.attribute("eps", model.normEps));
  }
  if (model.learnedPositions)
    return y;
  return f.op(
      "rope", (name + "_rope").str(), y.getType(), {y, positions},
      {b.getNamedAttr("inv_freq", b.getDenseF64ArrayAttr(model.invFreq)), f.attribute("scale", model.ropeScale)});
}

Value Importer::attention(Body &f, Value x, Value positions, const ::lf::LayerKind &kind) {
  int64_t g = model.kvHeads, r = model.heads / g, d = model.headDim;
  Value q = attentionInput(f, "q", "sbh,hgrd->sbgrd", x, positions);
  Value k = attentionInput(f, "k", "sbh,hgd->sbgd", x, positions);
  Value v = attentionInput(f, "v", "sbh,hgd->sbgd", x, positions);
  SmallVector<NamedAttribute> attributes{f.attribute("scale", model.attentionScale)};
  if (kind.window > 0)
    attributes.push_back(f.attribute("window", kind.window));
  Value context = f.ops("attention", "attention", {f.real({S, B, g, r, d}), f.real({S, B, g, r})},
                        {q, k, v, positions, positions}, attributes)
                      ->getResult(0);
  Value y = f.matmul("o", "sbgrd,grdh->sbh", context, f.param("o"));
  return model.outBias ? f.bias("o", y, "o_bias") : y;
}

Value Importer::mlp(Body &f, Value x) {
  auto project = [&](StringRef name, StringRef spec, Value input) {
    Value y = f.matmul(name, spec, input, f.param(name));
    return model.mlpBias ? f.bias(name, y, (name + "_bias").str()) : y;
  };
  NamedAttribute kind = f.attribute("kind", activation());
  Value hidden;
  if (model.gated) {
    Value gate = project("gate", "sbh,hf->sbf", x), up = project("up", "sbh,hf->sbf", x);
    hidden = f.op("glu", "glu", gate.getType(), {gate, up}, kind);
  } else {
    Value up = project("up", "sbh,hf->sbf", x);
    hidden = f.op("activation", "activation", up.getType(), up, kind);
  }
  return project("down", "sbf,fh->sbh", hidden);
}

SmallVector<Value> Importer::embed(Body &f, Value ids, Value positions) {
  Value x = f.op("embedding", "embedding", f.real({S, B, model.hidden}), {ids, f.param("embedding")});
  if (model.learnedPositions)
    x = f.op("position_embedding", "positions", x.getType(), {x, positions, f.param("positions")});
  return {dropout(f, "embedding_dropout", x, positions, afterEmbedding)};
}

SmallVector<Value> Importer::layer(Body &f, Value x, Value positions, const ::lf::LayerKind &kind) {
  Value a = attention(f, norm(f, "input_norm", x), positions, kind);
  Value r = f.sum("attention_residual", {x, dropout(f, "attention_dropout", a, positions, afterAttention)});
  Value m = mlp(f, norm(f, "post_norm", r));
  return {f.sum("mlp_residual", {r, dropout(f, "mlp_dropout", m, positions, afterMlp)})};
}

/// Loss sum and count of normed activations.
SmallVector<Value> Importer::loss(Body &f, Value n, Value labels, StringRef headOwner) {
  Value logits = model.tied ? f.matmul("logits", "sbh,vh->sbv", n, f.param("embedding", "embed"))
                            : f.matmul("logits", "sbh,hv->sbv", n, f.param("head", headOwner));
  Type perToken = f.real({S, B}), scalar = f.real({});
  Value nll = f.ops("cross_entropy", "loss", {perToken, perToken, perToken}, {logits, labels},
                    f.attribute("valid", model.vocab))
                  ->getResult(0);
  return {f.op("sum_all", "loss_sum", scalar, nll), f.op("count", "count", scalar, labels)};
}

SmallVector<Value> Importer::head(Body &f, Value x, Value labels) {
  return loss(f, model.mtpDepths > 0 ? x : norm(f, "final_norm", x), labels, "");
}

/// All depths of multi-token prediction: the stream, which is the normed output of the last layer, goes through
/// unchanged.
SmallVector<Value> Importer::mtp(Body &f, ValueRange arguments) {
  Value main = arguments[0], positions = arguments[1], h = main;
  NamedAttribute isStream = b.getNamedAttr("stream", b.getUnitAttr());
  SmallVector<Value> results{main};
  for (int64_t depth = 0; depth < model.mtpDepths; ++depth) {
    Value ids = arguments[2 + 2 * depth], labels = arguments[3 + 2 * depth];
    f.prefix = "mtp" + std::to_string(depth) + "_";
    firstSite = 3 * (depth + 1);
    Value e = f.op("embedding", "embedding", main.getType(), {ids, f.param("embedding", "embed")}, isStream);
    e = f.matmul("e_proj", "sbh,hk->sbk", norm(f, "enorm", e), f.param("e_proj"));
    Value p = f.matmul("h_proj", "sbh,hk->sbk", norm(f, "hnorm", h), f.param("h_proj"));
    Value x = f.op("sum", "eh_proj", main.getType(), {e, p}, isStream);
    x = layer(f, x, positions, model.kinds[static_cast<size_t>(model.kindOfLayer.back())]).front();
    h = norm(f, "shared_head_norm", x);
    SmallVector<Value> sums = loss(f, h, labels, "head");
    double share = plan.mtpFactor / static_cast<double>(model.mtpDepths);
    results.push_back(f.op("depth_loss", "mtp_loss", sums[0].getType(), sums[0],
                           {f.attribute("depth", depth), f.attribute("share", share)}));
    results.push_back(sums[1]);
  }
  f.prefix.clear();
  firstSite = 0;
  return results;
}

} // namespace

OwningOpRef<ModuleOp> mlir::lf::importModel(MLIRContext &context, const ::lf::ModelConfig &model,
                                            const ::lf::ParallelPlan &plan) {
  context.loadDialect<LfDialect, func::FuncDialect>();
  return Importer(context, model, plan).run();
}
