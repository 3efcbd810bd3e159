//===- Shrink.cpp - A small model that a plan splits in the same way --------===//
//
// The model file is rewritten field by field and read again, so that the small model obeys every rule of its family.
//
//===----------------------------------------------------------------------===//
#include "Shrink.h"
#include "lf/Plan/PlanJson.h"
#include "lf/Schedule/LayoutString.h"
#include "lf/Support/Json.h"
#include <algorithm>
#include <sstream>

namespace lf {
namespace {

struct Small {
  int64_t heads, kvHeads, headDim = 8, hidden, ffn, vocab, positions, window = 0;
  std::vector<int> kindOfLayer;
  std::vector<std::string> stages; ///< symbols of the layout
};

/// kv heads and queries of each: as many as tp needs to split (and repeat) them as it does the model's, twice that
/// where the model has it, so that a rank holds more than one.
void heads(const ModelConfig &m, const ParallelPlan &p, Small &s) {
  int64_t each = m.heads / m.kvHeads;
  s.kvHeads = p.tpRep > 1 ? p.tpKv : (m.kvHeads >= 2 * p.tp ? 2 : 1) * p.tp;
  int64_t queries = each >= 2 * p.tpRep ? 2 * p.tpRep : p.tpRep;
  s.heads = s.kvHeads * queries;
  // Some families have a width of their own beside heads x channels; keep the two different then, and a multiple of tp.
  s.hidden = s.heads * s.headDim + (m.hidden == m.heads * m.headDim ? 0 : (16 + p.tp - 1) / p.tp * p.tp);
}

/// Of each stage the first layer and the first of another kind, or the second.
void layers(const ModelConfig &m, const ParallelPlan &p, Small &s) {
  size_t next = 0;
  for (const std::string &stage : parseLayout(layoutText(p, m)).stages) {
    size_t count = static_cast<size_t>(std::count(stage.begin(), stage.end(), 't'));
    std::vector<int> kinds(m.kindOfLayer.begin() + static_cast<std::ptrdiff_t>(next),
                           m.kindOfLayer.begin() + static_cast<std::ptrdiff_t>(next + count));
    next += count;
    if (kinds.size() > 2) {
      auto other = std::find_if(kinds.begin(), kinds.end(), [&](int kind) { return kind != kinds.front(); });
      kinds = {kinds.front(), other == kinds.end() ? kinds.front() : *other};
    }
    s.kindOfLayer.insert(s.kindOfLayer.end(), kinds.begin(), kinds.end());
    std::string symbols;
    size_t left = kinds.size();
    for (char symbol : stage)
      if (symbol != 't')
        symbols += symbol;
      else if (left > 0)
        symbols += symbol, --left;
    s.stages.push_back(symbols);
  }
}

std::string rewrite(const ModelConfig &m, const Small &s) {
  Json file = parseJson(m.source, "the model file");
  int64_t count = static_cast<int64_t>(s.kindOfLayer.size());
  file["vocab_size"] = s.vocab;
  for (const char *token : {"bos_token_id", "eos_token_id", "pad_token_id"})
    file.erase(token);
  if (m.family == "gpt2") {
    for (const char *alias : {"num_hidden_layers", "hidden_size", "num_attention_heads", "max_position_embeddings",
                              "n_ctx", "head_dim", "num_key_value_heads"})
      file.erase(alias);
    file["n_layer"] = count;
    file["n_embd"] = s.hidden;
    file["n_head"] = s.heads;
    file["n_inner"] = s.ffn;
    file["n_positions"] = s.positions;
    return file.dump(2);
  }
  file["num_hidden_layers"] = count;
  file["hidden_size"] = s.hidden;
  file["intermediate_size"] = s.ffn;
  file["num_attention_heads"] = s.heads;
  file["num_key_value_heads"] = s.kvHeads;
  file["head_dim"] = s.headDim;
  bool windows = std::any_of(m.kinds.begin(), m.kinds.end(), [](const LayerKind &kind) { return kind.window > 0; });
  if (windows)
    file["sliding_window"] = s.window;
  file.erase("layer_types");
  if (windows && m.family != "mistral") {
    Json types = Json::array();
    for (int kind : s.kindOfLayer)
      types.push_back(m.kinds[static_cast<size_t>(kind)].window > 0 ? "sliding_attention" : "full_attention");
    file["layer_types"] = std::move(types);
  }
  return file.dump(2);
}

/// As many as fill the pipeline and steady state; with several chunks on a rank, whole groups and the remainder.
int64_t fewerMicroBatches(const ParallelPlan &p) {
  if (p.vpp == 1 || (p.schedule != "1f1b" && p.schedule != "interleaved"))
    return std::min<int64_t>(p.microBatches(), (p.vpp > 1 ? 2 * p.pp : p.pp) + 2);
  int64_t group = p.groupSize ? p.groupSize : p.pp, rest = p.microBatches() % group;
  return std::min(p.microBatches(), rest ? group + rest : 2 * group);
}

std::vector<std::string> words(const std::string &text) {
  std::istringstream stream(text);
  std::vector<std::string> out;
  for (std::string word; stream >> word;)
    out.push_back(word);
  return out;
}

} // namespace

Shrunk shrink(const ModelConfig &m, const ParallelPlan &p) {
  Small s;
  heads(m, p, s);
  layers(m, p, s);
  s.ffn = 6 * p.tp;
  int64_t multiple = std::min<int64_t>(p.vocabMultiple, 8);
  s.vocab = 2 * std::max<int64_t>(multiple, 8) * p.tp - (p.paddedVocab != m.vocab && multiple > 1 ? 3 : 0);
  int64_t sequence = std::max<int64_t>({16, 2 * p.tp, m.mtpDepths + 4}); // each depth has labels
  sequence = (sequence + p.tp - 1) / p.tp * p.tp;
  s.positions = 2 * sequence;
  s.window = sequence / 2 + 1;

  Shrunk out;
  auto ignored = p.options.find("ignore-config-field");
  out.model = parseModel(rewrite(m, s), "the small model",
                         ignored == p.options.end() ? std::vector<std::string>() : words(ignored->second));
  out.model.mtpDepths = m.mtpDepths;
  out.plan = p;
  out.plan.dtype = Dtype::f64;
  out.plan.memoryBudget = 0;
  out.plan.vocabMultiple = multiple;
  out.plan.seqLength = sequence;
  out.plan.microBatch = std::min<int64_t>(p.microBatch, 2);
  out.plan.dp = std::max<int64_t>(std::min<int64_t>(p.dp, 2), std::min<int64_t>(p.dp, 64 / (p.tp * p.pp)));
  int64_t microBatches = fewerMicroBatches(p);
  out.plan.globalBatch = out.plan.microBatch * out.plan.dp * microBatches;
  if (!p.layout.empty())
    out.plan.layout = printLayout(s.stages);
  resolvePlan(out.plan, out.model);

  out.single = out.plan;
  out.single.tp = out.single.pp = out.single.dp = 1;
  out.single.sequenceParallel = false;
  out.single.layout.clear();
  out.single.vpp = 1;
  out.single.groupSize = 0;
  out.single.schedule = "1f1b";
  out.single.microBatch = out.plan.microBatch * out.plan.dp; // the same micro-batches, so the same dropout
  resolvePlan(out.single, out.model);

  auto change = [&](const char *what, int64_t from, int64_t to) {
    if (from != to)
      out.says +=
          (out.says.empty() ? "" : ", ") + std::string(what) + " " + std::to_string(from) + " -> " + std::to_string(to);
  };
  change("layers", m.layers, out.model.layers);
  change("hidden", m.hidden, out.model.hidden);
  change("heads", m.heads, out.model.heads);
  change("kv heads", m.kvHeads, out.model.kvHeads);
  change("head dim", m.headDim, out.model.headDim);
  change("ffn", m.ffn, out.model.ffn);
  change("vocabulary", m.vocab, out.model.vocab);
  change("sequence", p.seqLength, sequence);
  change("micro-batch", p.microBatch, out.plan.microBatch);
  change("micro-batches", p.microBatches(), microBatches);
  change("dp", p.dp, out.plan.dp);
  return out;
}

} // namespace lf
