//===- ResolvePlan.cpp - A plan against its model ---------------------------===//
//
// Every check that needs both, before any IR exists; each message shows the arithmetic and what would be legal.
//
//===----------------------------------------------------------------------===//
#include "Arguments.h"
#include "lf/Plan/ParallelPlan.h"

#include "lf/Plan/PipelineSplit.h"
#include "lf/Schedule/Algorithms.h"
#include "lf/Schedule/StageLayout.h"
#include "lf/Support/Error.h"
#include "lf/Support/Text.h"

#include <algorithm>
#include <cstdlib>

namespace lf {

static std::string plain(int64_t n) { return std::to_string(n); }

/// `a % b = r`
static std::string remainder(int64_t a, int64_t b) { return plain(a) + " % " + plain(b) + " = " + plain(a % b); }

static bool headsFit(const ModelConfig &m, int64_t tp) {
  if (m.heads % tp != 0)
    return false;
  if (m.kvHeads >= tp)
    return m.kvHeads % tp == 0;
  return tp % m.kvHeads == 0 && (m.heads / m.kvHeads) % (tp / m.kvHeads) == 0;
}

static std::vector<int64_t> legalTp(const ModelConfig &m) {
  std::vector<int64_t> out;
  for (int64_t tp : divisors(m.heads))
    if (headsFit(m, tp) && m.ffn % tp == 0)
      out.push_back(tp);
  return out;
}

static void sizes(const ParallelPlan &p) {
  const std::pair<const char *, int64_t> all[] = {{"--tensor-model-parallel-size", p.tp},
                                                  {"--pipeline-model-parallel-size", p.pp},
                                                  {"--context-parallel-size", p.cp},
                                                  {"--expert-model-parallel-size", p.ep},
                                                  {"--expert-tensor-parallel-size", p.etp},
                                                  {"--data-parallel-size", p.dp},
                                                  {"--num-virtual-stages-per-pipeline-rank", p.vpp},
                                                  {"--micro-batch-size", p.microBatch},
                                                  {"--make-vocab-size-divisible-by", p.vocabMultiple}};
  constexpr int64_t most = (int64_t{1} << 31) - 1;
  for (auto [name, value] : all)
    if (value < 1 || value > most)
      throw usage(quote(name) + ": expected an integer from 1 to " + plain(most) + ", got " + plain(value));
  std::vector<std::string> wrong;
  for (int i : {2, 3, 4})
    if (all[i].second > 1)
      wrong.push_back(quote(all[i].first) + " is not implemented yet: expected 1, got " + plain(all[i].second));
  refuseAll(wrong);
  int64_t ranks = 1;
  for (int64_t size : {p.tp, p.pp, p.cp, p.dp})
    if ((ranks *= size) > 1 << 20)
      throw usage("expected at most " + plain(1 << 20) + " ranks, got tp " + plain(p.tp) + " x pp " + plain(p.pp) +
                  " x cp " + plain(p.cp) + " x dp " + plain(p.dp));
}

static void tensorParallel(ParallelPlan &p, const ModelConfig &m) {
  const std::string name = "\"--tensor-model-parallel-size\"";
  const std::string legal = "; legal sizes for this model: " + list(legalTp(m));
  if (m.heads % p.tp != 0)
    throw usage(name + ": expected a divisor of the " + plain(m.heads) + " heads, got " + plain(p.tp) + " (" +
                remainder(m.heads, p.tp) + ")" + legal);
  if (!headsFit(m, p.tp)) {
    if (m.kvHeads >= p.tp)
      throw usage(name + ": expected a divisor of the " + plain(m.kvHeads) + " kv heads, got " + plain(p.tp) + " (" +
                  remainder(m.kvHeads, p.tp) + ")" + legal);
    if (p.tp % m.kvHeads != 0)
      throw usage(name + ": expected a multiple of the " + plain(m.kvHeads) + " kv heads, each being repeated, got " +
                  plain(p.tp) + " (" + remainder(p.tp, m.kvHeads) + ")" + legal);
    int64_t each = m.heads / m.kvHeads, repeat = p.tp / m.kvHeads;
    throw usage(name + ": expected the " + plain(each) + " query heads of a kv head to divide by its " + plain(repeat) +
                " copies (tp " + plain(p.tp) + " / " + plain(m.kvHeads) + " kv heads), got " + remainder(each, repeat) +
                legal);
  }
  if (m.ffn % p.tp != 0)
    throw usage(name + ": expected a divisor of the ffn size " + plain(m.ffn) + ", got " + plain(p.tp) + " (" +
                remainder(m.ffn, p.tp) + ")" + legal);
  p.tpKv = p.tp <= m.kvHeads ? p.tp : m.kvHeads;
  p.tpRep = p.tp / p.tpKv;
  int64_t step = p.vocabMultiple * p.tp;
  p.paddedVocab = (m.vocab + step - 1) / step * step;
  if (p.sequenceParallel && p.tp == 1) {
    p.sequenceParallel = false;
    p.notices.push_back("sequence parallelism is off: it splits the sequence over tp, and tp is 1");
  }
}

static void shapes(ParallelPlan &p, const ModelConfig &m) {
  if (p.seqLength == 0)
    p.seqLength = m.maxPositions;
  if (p.seqLength < 1)
    throw usage("\"--seq-length\": expected an integer of at least 1, got " + plain(p.seqLength));
  if (p.seqLength > m.maxPositions)
    throw usage("\"--seq-length\": expected at most " + plain(m.maxPositions) +
                " (the positions of the model file), got " + plain(p.seqLength) +
                (m.learnedPositions ? "" : "; raise \"/max_position_embeddings\" to train longer"));
  int64_t parts = p.tp * p.cp;
  if (p.sequenceParallel && p.seqLength % parts != 0)
    throw usage("\"--seq-length\": expected a multiple of " + plain(parts) + " (tp " + plain(p.tp) + " x cp " +
                plain(p.cp) + ", under sequence parallelism), got " + plain(p.seqLength) + " (" +
                remainder(p.seqLength, parts) + "); use " + neighbours(p.seqLength, parts));
  int64_t step = p.microBatch * p.dp;
  if (p.globalBatch == 0)
    p.globalBatch = step;
  if (p.globalBatch < 1 || p.globalBatch % step != 0)
    throw usage("\"--global-batch-size\": expected a multiple of " + plain(step) + " (micro-batch " +
                plain(p.microBatch) + " x dp " + plain(p.dp) + "), got " + plain(p.globalBatch) +
                (p.globalBatch < 1 ? "" : " (" + remainder(p.globalBatch, step) + ")") + "; use " +
                neighbours(p.globalBatch < 1 ? step : p.globalBatch, step));
}

static void dropout(ParallelPlan &p, const ModelConfig &m) {
  bool gpt2 = m.family == "gpt2";
  if (!p.options.contains("hidden-dropout")) {
    if (m.embeddingDropout != m.hiddenDropout && gpt2)
      throw usage("expected \"/embd_pdrop\" and \"/resid_pdrop\" of the model file to be equal, got " +
                  number(m.embeddingDropout) + " and " + number(m.hiddenDropout) +
                  " (absent means 0.1); make them equal or pass --hidden-dropout");
    p.hiddenDropout = m.hiddenDropout;
  }
  double attention = m.attentionDropout;
  if (auto it = p.options.find("attention-dropout"); it != p.options.end())
    attention = std::strtod(it->second.c_str(), nullptr); // checked when it was given
  if (attention != 0)
    throw usage("attention dropout is not implemented yet: expected 0, got " + number(attention) +
                (p.options.contains("attention-dropout")
                     ? " from \"--attention-dropout\""
                     : std::string(" from ") + (gpt2 ? "\"/attn_pdrop\" of the model file (absent means 0.1)"
                                                     : "\"/attention_dropout\" of the model file")) +
                "; state \"" + (gpt2 ? "attn_pdrop" : "attention_dropout") +
                "\": 0.0 there or pass --attention-dropout 0");
}

static void mtp(ParallelPlan &p, const ModelConfig &m) {
  const std::string name = "\"--mtp-num-layers\"";
  if (m.mtpDepths == 0 && p.options.contains("mtp-loss-scaling-factor"))
    p.notices.push_back("\"--mtp-loss-scaling-factor\" has no effect: it weights the losses of multi-token prediction, and "
                        "--mtp-num-layers is 0");
  if (m.mtpDepths > 0 && m.learnedPositions)
    throw usage(name + ": expected 0 for a model with learned positions (family " + quote(m.family) + "), got " +
                plain(m.mtpDepths) + "; multi-token prediction needs a rotary embedding");
  if (m.mtpDepths > 0 && m.hidden % p.tp != 0)
    throw usage("\"--tensor-model-parallel-size\": expected a divisor of the hidden size " + plain(m.hidden) +
                ", which the projection of a depth of multi-token prediction splits, got " + plain(p.tp) + " (" +
                remainder(m.hidden, p.tp) + ")");
  if (m.mtpDepths > 0 && p.seqLength <= m.mtpDepths)
    throw usage(name + ": expected fewer depths than the " + plain(p.seqLength) + " tokens of a sample, got " +
                plain(m.mtpDepths) + ", which would leave depth " + plain(p.seqLength - 1) +
                " without labels; lower it or raise --seq-length");
}

/// Every pass of every micro-batch is a line of a program: 2^17 forward take seconds to plan, and 90 MB of executable.
constexpr int64_t mostPasses = int64_t{1} << 17;

static void scheduleSize(const ParallelPlan &p, int64_t chunks) {
  const int64_t stages = p.pp * chunks, microBatches = p.microBatches(), step = p.microBatch * p.dp;
  if (stages <= mostPasses && microBatches <= mostPasses / stages)
    return;
  throw usage("\"--global-batch-size\": expected at most " + plain(mostPasses) + " passes of a micro-batch through a stage in a step, got " +
              plain(microBatches) + " micro-batches (" + plain(p.globalBatch) + " / (micro-batch " + plain(p.microBatch) + " x dp " +
              plain(p.dp) + ")) x " + plain(stages) + (stages == 1 ? " stage" : " stages") +
              "; raise --micro-batch-size or --data-parallel-size, or lower --global-batch-size to " +
              plain(std::max<int64_t>(mostPasses / stages, 1) * step) + " or less");
}

/// Refuses chunks on a rank with which the plan's schedule does not run, whatever stands in the stages.
static void checkChunks(const ParallelPlan &p, ScheduleKind kind, int64_t chunks) {
  const std::string group = "\"--microbatch-group-size-per-virtual-pipeline-stage\"";
  if (chunks > 1 && p.pp == 2 && !p.overlapP2p)
    throw usage("\"--no-overlap-p2p-communication\": expected a pipeline size (--pp) of at least 3 with " + plain(chunks) +
                " chunks on a rank, got 2; remove the flag, or use one chunk");
  if (p.groupSize > 0 && kind != ScheduleKind::oneForwardOneBackward && kind != ScheduleKind::interleaved)
    throw usage(group + ": expected \"--pipeline-schedule\" \"interleaved\", got " + quote(p.schedule) +
                ", which runs no groups of micro-batches; remove it");
  if (p.groupSize > 0 && chunks == 1)
    throw usage(group + ": expected several chunks on a pipeline rank, got 1; pass "
                        "--num-virtual-stages-per-pipeline-rank or remove it");
  scheduleSize(p, chunks);
  checkSchedule(kind, {p.pp, chunks, p.microBatches(), p.groupSize, false, p.overlapP2p});
}

/// Chunks on a rank with which the plan would run, everything else being as it is: what may be proposed.
static std::pair<int64_t, int64_t> chunksThatRun(const ParallelPlan &p, ScheduleKind kind) {
  auto runs = [&](int64_t chunks) {
    try {
      checkChunks(p, kind, chunks);
      return true;
    } catch (const Error &) {
      return false;
    }
  };
  if (int64_t only = chunksOf(kind); only > 0)
    return runs(only) ? std::pair{only, only} : std::pair<int64_t, int64_t>{1, 0};
  int64_t most = p.pp == 1 ? 1 : mostPasses / (p.pp * p.microBatches()); // several are as two, but for the size
  return {runs(1) ? 1 : 2, most > 1 && !runs(2) ? 1 : most};
}

/// The stages: what the layout says, what flags ask for, or what the schedule insists on.
static void pipeline(ParallelPlan &p, const ModelConfig &m, const SplitFlags &flags) {
  const ScheduleKind kind = parseSchedule(p.schedule);
  const bool automatic = p.layout == autoLayout, stated = !p.layout.empty() && !automatic;
  const auto [fewest, most] = chunksThatRun(p, kind);
  SplitRequest split = splitRequest(m.layers, p.pp, 1, flags.uneven);
  split.mtp = m.mtpDepths;
  split.fewestChunks = fewest;
  split.mostChunks = most;
  if (stated) {
    const LayoutText text = parseLayout(p.layout);
    if (fewest > most) // no layout runs: say why
      checkChunks(p, kind,
                  chunksOf(kind) > 0 ? chunksOf(kind) : (static_cast<int64_t>(text.stages.size()) + p.pp - 1) / p.pp);
    LayoutRequest request;
    request.pp = p.pp;
    request.layers = m.layers;
    request.mtp = m.mtpDepths;
    request.chunks = chunksOf(kind);
    request.placement = placementOf(kind);
    request.overlapP2p = p.overlapP2p;
    request.fewestChunks = fewest;
    request.mostChunks = most;
    p.vpp = resolveLayout(text, request).placement.chunks;
  } else if (flags.layersPerStage > 0) {
    p.vpp = chunksFromLayersPerStage(split, flags.layersPerStage);
    if (int64_t has = chunksOf(kind); has > 0 && p.vpp != has)
      throw usage("\"--num-layers-per-virtual-pipeline-stage\": expected " + plain(has) +
                  (has == 1 ? " chunk" : " chunks") + " on a rank, as \"--pipeline-schedule\" " + quote(p.schedule) +
                  " has, got " + plain(p.vpp) + " (" + plain(p.vpp * flags.layersPerStage) + " layers of a rank / " +
                  plain(flags.layersPerStage) + "); remove the flag or choose another schedule");
  } else if (p.vpp == 1 && chunksOf(kind) > 1) {
    p.vpp = chunksOf(kind);
    split.chunksFrom = "\"--pipeline-schedule\" " + quote(p.schedule);
  }
  checkChunks(p, kind, p.vpp);
  if (p.vpp > 1 && kind == ScheduleKind::oneForwardOneBackward)
    p.schedule = "interleaved"; // what 1F1B is with several chunks: say what runs
  if (stated || automatic)
    return;
  split.vpp = p.vpp;
  if (flags.uneven.asked()) {
    p.layout = unevenLayout(split);
  } else if (p.vpp > 1) {
    defaultSplit(split);
  } else if (m.layers % p.pp != 0) {
    std::string proposal = proposeLayout(m.layers, p.pp, m.mtpDepths);
    throw usage("\"--pipeline-model-parallel-size\": expected a divisor of the " + plain(m.layers) +
                " layers when no layout is given, got " + plain(p.pp) + " (" + remainder(m.layers, p.pp) +
                "); legal sizes: " + list(divisors(m.layers)) +
                (proposal.empty() ? "" : "; or state a layout: --pipeline-model-parallel-layout \"" + proposal + "\""));
  }
}

void resolvePlan(ParallelPlan &plan, const ModelConfig &model, const SplitFlags &split) {
  sizes(plan);
  tensorParallel(plan, model);
  shapes(plan, model);
  mtp(plan, model);
  dropout(plan, model);
  pipeline(plan, model, split); // last: a layout that it proposes runs
}

void resolvePlan(ParallelPlan &plan, const ModelConfig &model) { resolvePlan(plan, model, {}); }

} // namespace lf
