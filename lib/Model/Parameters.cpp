//===- Parameters.cpp - The parameters of a model, and their names ----------===//
//
// One row a parameter, in program order. Sizes are letters of the layout calculus: H hidden, g kv heads, r query heads
// of each, d channels of a head, F ffn, V vocabulary, P positions.
//
//===----------------------------------------------------------------------===//
#include "lf/Model/Parameters.h"

#include "lf/Support/Error.h"
#include "lf/Support/Text.h"

#include <cmath>

namespace lf {
namespace {

struct Table {
  const ModelConfig &model;
  std::string owner;
  std::vector<Parameter> rows;

  int64_t H = model.hidden, g = model.kvHeads, r = model.heads / model.kvHeads, d = model.headDim, F = model.ffn;
  bool gpt2 = model.family == "gpt2";
  double residualStd = model.initStd / std::sqrt(2.0 * static_cast<double>(model.layers));

  /// A weight; the first rowDims dims are the product's input (or the table's index).
  Parameter &weight(const char *name, const std::string &hfName, std::vector<int64_t> shape, std::vector<Split> split,
                    int rowDims, bool transposed, double std) {
    Parameter p;
    p.name = name;
    p.hfName = hfName;
    p.owner = owner;
    p.hfCols = 1;
    for (size_t i = static_cast<size_t>(rowDims); i < shape.size(); ++i)
      p.hfCols *= shape[i];
    p.shape = std::move(shape);
    p.split = std::move(split);
    p.rowDims = rowDims;
    p.hfTransposed = transposed;
    p.decay = true;
    p.initStd = std;
    rows.push_back(std::move(p));
    return rows.back();
  }

  /// A norm weight or a bias: one-dimensional in files, without decay.
  Parameter &vector(const char *name, const std::string &hfName, std::vector<int64_t> shape, std::vector<Split> split,
                    Init init) {
    Parameter &p = weight(name, hfName, std::move(shape), std::move(split), 0, false, 0.0);
    p.decay = false;
    p.init = init;
    return p;
  }

  void norm(const char *name, const char *bias, const std::string &hfName) {
    vector(name, hfName + ".weight", {H}, {Split::none}, Init::ones);
    if (model.norm == Norm::layer)
      vector(bias, hfName + ".bias", {H}, {Split::none}, Init::zeros);
  }

  /// Makes the last row columns `first` .. of a fused tensor of `all` columns.
  void fuse(int64_t first, int64_t all) { rows.back().hfCol = first, rows.back().hfCols = all; }

  void embed() {
    std::string at = gpt2 ? "transformer.wte.weight" : "model.embed_tokens.weight";
    weight("embedding", at, {model.vocab, H}, {Split::tp, Split::none}, 1, false, model.initStd).vocabDim = 0;
    if (model.learnedPositions)
      weight("positions", "transformer.wpe.weight", {model.maxPositions, H}, {Split::none, Split::none}, 1, false,
             model.initStd);
  }

  void finalNorm() { norm("final_norm", "final_norm_bias", gpt2 ? "transformer.ln_f" : "model.norm"); }

  void head() {
    if (model.mtpDepths == 0)
      finalNorm();
    if (!model.tied)
      weight("head", "lm_head.weight", {H, model.vocab}, {Split::none, Split::tp}, 1, true, model.initStd).vocabDim = 1;
  }

  void attention(const std::string &at) {
    constexpr Split none = Split::none, kv = Split::tpKv, rep = Split::tpRep;
    const std::string out = at + (gpt2 ? "c_proj" : "o_proj");
    const struct {
      const char *name, *bias, *hf;
      bool isQuery;
    } inputs[] = {{"q", "q_bias", "q_proj", true}, {"k", "k_bias", "k_proj", false}, {"v", "v_bias", "v_proj", false}};
    // Only multi-head attention is ever fused (GPT-2): q, k and v have H columns each.
    int64_t column = 0, columns = (model.heads + 2 * model.kvHeads) * d;
    auto finish = [&](bool isQuery) {
      rows.back().closedOverRep = !isQuery;
      if (gpt2)
        fuse(column, columns);
    };
    for (const auto &in : inputs) {
      std::string hf = at + (gpt2 ? "c_attn" : in.hf);
      weight(in.name, hf + ".weight", in.isQuery ? std::vector<int64_t>{H, g, r, d} : std::vector<int64_t>{H, g, d},
             in.isQuery ? std::vector<Split>{none, kv, rep, none} : std::vector<Split>{none, kv, none}, 1, !gpt2,
             model.initStd);
      finish(in.isQuery);
      if (model.qkvBias) {
        vector(in.bias, hf + ".bias", in.isQuery ? std::vector<int64_t>{g, r, d} : std::vector<int64_t>{g, d},
               in.isQuery ? std::vector<Split>{kv, rep, none} : std::vector<Split>{kv, none}, Init::zeros);
        finish(in.isQuery);
      }
      column += (in.isQuery ? model.heads : model.kvHeads) * d;
    }
    if (model.qkNorm) {
      vector("q_norm", at + "q_norm.weight", {d}, {none}, Init::ones);
      vector("k_norm", at + "k_norm.weight", {d}, {none}, Init::ones);
    }
    weight("o", out + ".weight", {g, r, d, H}, {kv, rep, none, none}, 3, !gpt2, residualStd);
    if (model.outBias)
      vector("o_bias", out + ".bias", {H}, {none}, Init::zeros);
  }

  void mlp(const std::string &at) {
    constexpr Split none = Split::none, tp = Split::tp;
    const std::string up = at + (gpt2 ? "c_fc" : "up_proj"), down = at + (gpt2 ? "c_proj" : "down_proj");
    if (model.gated) {
      weight("gate", at + "gate_proj.weight", {H, F}, {none, tp}, 1, !gpt2, model.initStd);
      if (model.mlpBias)
        vector("gate_bias", at + "gate_proj.bias", {F}, {tp}, Init::zeros);
    }
    weight("up", up + ".weight", {H, F}, {none, tp}, 1, !gpt2, model.initStd);
    if (model.mlpBias)
      vector("up_bias", up + ".bias", {F}, {tp}, Init::zeros);
    weight("down", down + ".weight", {F, H}, {tp, none}, 1, !gpt2, residualStd);
    if (model.mlpBias)
      vector("down_bias", down + ".bias", {H}, {none}, Init::zeros);
  }

  void layer() { layer(gpt2 ? "transformer.h.%d." : "model.layers.%d."); }

  void layer(const std::string &at) {
    norm("input_norm", "input_norm_bias", at + (gpt2 ? "ln_1" : "input_layernorm"));
    attention(at + (gpt2 ? "attn." : "self_attn."));
    norm("post_norm", "post_norm_bias", at + (gpt2 ? "ln_2" : "post_attention_layernorm"));
    mlp(at + "mlp.");
  }

  /// All depths of multi-token prediction. eh_proj is stored [H, 2H]; the two parameters are the halves of its inputs.
  void mtp() {
    for (int64_t depth = 0; depth < model.mtpDepths; ++depth) {
      const std::string at = "model.layers." + std::to_string(model.layers + depth) + ".";
      size_t first = rows.size();
      norm("enorm", "enorm_bias", at + "enorm");
      norm("hnorm", "hnorm_bias", at + "hnorm");
      for (const char *half : {"e_proj", "h_proj"}) {
        Parameter &p = weight(half, at + "eh_proj.weight", {H, H}, {Split::none, Split::tp}, 1, true, model.initStd);
        p.hfRow = half[0] == 'e' ? 0 : H;
        p.hfRows = 2 * H;
      }
      layer(at);
      norm("shared_head_norm", "shared_head_norm_bias", at + "shared_head.norm");
      for (size_t i = first; i < rows.size(); ++i) {
        rows[i].name = "mtp" + std::to_string(depth) + "_" + rows[i].name;
        rows[i].optional = true;
      }
    }
  }
};

int64_t elements(const std::vector<Parameter> &parameters) {
  int64_t sum = 0;
  for (const Parameter &p : parameters) {
    int64_t n = 1;
    for (int64_t size : p.shape)
      n *= size;
    sum += n;
  }
  return sum;
}

} // namespace

std::vector<Parameter> parametersOf(const ModelConfig &model, const std::string &owner) {
  Table table{model, owner, {}};
  if (owner == "embed") {
    table.embed();
    return table.rows;
  }
  if (owner == "head") {
    table.head();
    return table.rows;
  }
  if (model.mtpDepths > 0 && (owner == "final" || owner == "mtp")) {
    owner == "final" ? table.finalNorm() : table.mtp();
    return table.rows;
  }
  for (const LayerKind &kind : model.kinds)
    if (kind.name == owner) {
      table.layer();
      return table.rows;
    }
  throw usage("expected an owner of parameters (\"embed\", \"head\" or a layer kind), got " + quote(owner));
}

int64_t parameterCount(const ModelConfig &model) {
  int64_t count = elements(parametersOf(model, "embed")) + elements(parametersOf(model, "head"));
  if (model.mtpDepths > 0)
    count += elements(parametersOf(model, "final")) + elements(parametersOf(model, "mtp"));
  for (size_t k = 0; k < model.kinds.size(); ++k) {
    int64_t layers = 0;
    for (int kind : model.kindOfLayer)
      layers += kind == static_cast<int>(k);
    count += layers * elements(parametersOf(model, model.kinds[k].name));
  }
  return count;
}

} // namespace lf
