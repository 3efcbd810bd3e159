//===- RandomPlan.cpp - A model and a plan from one number ------------------===//
//
// The plan is drawn as flags, within the rules that a user has to keep; the compiler's own parser then reads them.
//
//===----------------------------------------------------------------------===//
#include "RandomPlan.h"
#include "RandomModel.h"
#include "lf/Pipelines/Driver.h"
#include "lf/Plan/PlanJson.h"
#include "lf/Schedule/LayoutString.h"
#include "lf/Support/Files.h"
#include "lf/Support/Text.h"
#include <algorithm>
#include <stdexcept>

namespace lf::test {

namespace {

struct Sizes {
  int64_t dp = 1, tp = 1, pp = 1;
};

/// Any sizes within eight ranks; most of the time all three axes, where the model and the batch have room for them.
Sizes drawSizes(Dice &dice, const RandomModel &m) {
  if (m.tp % 2 == 0 && m.columns % 2 == 0 && dice.percent(60))
    return {2, 2, 2};
  std::vector<int64_t> tps, dps;
  for (int64_t size = 1; size <= 8; ++size) {
    if (m.tp % size == 0)
      tps.push_back(size);
    if (m.columns % size == 0)
      dps.push_back(size);
  }
  for (int attempt = 0; attempt < 1000; ++attempt) {
    Sizes s{dice.of(dps), dice.of(tps), dice.between(1, std::min<int64_t>(5, m.layers + 3))};
    if (s.dp * s.tp * s.pp > 1 && s.dp * s.tp * s.pp <= 8)
      return s;
  }
  throw std::logic_error("expected a plan of 2 to 8 ranks, got none in 1000 attempts");
}

/// Layers cut at random places: stages without a layer, E or L alone, and empty stages all occur. The depths of
/// multi-token prediction are together behind the last layer, in the last chunk of a rank.
std::vector<std::string> drawStages(Dice &dice, const RandomModel &m, int64_t pp, int64_t chunks) {
  std::vector<int64_t> cuts = {0, m.layers};
  for (int64_t i = 1; i < pp * chunks; ++i)
    cuts.push_back(dice.between(0, m.layers));
  std::sort(cuts.begin(), cuts.end());
  std::vector<std::string> stages;
  int64_t first = pp * (chunks - 1); // that may hold the depths
  for (int64_t i = 0; i < pp * chunks; ++i) {
    int64_t layers = cuts[static_cast<size_t>(i) + 1] - cuts[static_cast<size_t>(i)];
    stages.push_back(std::string(static_cast<size_t>(layers), 't'));
    first = layers > 0 ? std::max(first, i) : first;
  }
  stages.front().insert(0, "E");
  if (first + 2 < pp * chunks && dice.percent(50)) // a stage of their own
    first = dice.between(first + 1, pp * chunks - 2);
  else
    first = dice.between(first, pp * chunks - 1);
  stages[static_cast<size_t>(first)] += std::string(static_cast<size_t>(m.mtp), 'm');
  stages.back() += "L";
  return stages;
}

std::string text(int64_t n) { return std::to_string(n); }

std::string plainLayout(const std::vector<std::string> &stages) {
  std::string text;
  for (const std::string &stage : stages)
    text += (&stage == &stages.front() ? "" : "|") + stage;
  return text;
}

std::string describeLayout(const std::vector<std::string> &stages) {
  if (std::any_of(stages.begin(), stages.end(), [](const std::string &s) { return s.empty(); }))
    return "empty stage";
  if (stages.front() == "E" || stages.back() == "L")
    return "E or L alone";
  return "layers everywhere";
}

std::string describeMtp(const std::vector<std::string> &stages) {
  auto stage = std::find_if(stages.begin(), stages.end(), [](const std::string &s) { return s.find('m') != std::string::npos; });
  if (stage == stages.end())
    return "no";
  return stage->find_first_not_of('m') == std::string::npos ? "own stage" : stage->back() == 'L' ? "with the loss" : "before the loss";
}

/// A group of micro-batches that the interleaved order takes: each is full or holds one micro-batch a rank.
int64_t drawGroup(Dice &dice, int64_t pp, int64_t microBatches) {
  std::vector<int64_t> legal;
  for (int64_t group = pp; group <= microBatches; ++group)
    if (microBatches % group == 0 || microBatches % group >= pp)
      legal.push_back(group);
  return dice.of(legal);
}

/// A schedule, the chunks of a rank and what is in each stage, in each of the ways in which that can be stated.
void drawPipeline(Dice &dice, const RandomModel &m, int64_t pp, std::vector<std::string> &flags) {
  auto schedule = dice.of<std::string>({"gpipe", "1f1b", "interleaved", "interleaved", "zb-h1", "zb-h1", "zb-v"});
  int64_t chunks = schedule == "zb-v" ? 2 : schedule == "interleaved" ? dice.between(2, 3) : 1;
  if (schedule == "gpipe" && dice.percent(30))
    chunks = 2;
  if (schedule == "interleaved") {
    if (m.microBatches < pp) {
      schedule = "1f1b";
      chunks = 1;
    } else if (dice.percent(50)) {
      schedule = "1f1b"; // the same order by its other name
    }
  }
  auto add = [&](const std::string &name, const std::string &value) {
    flags.push_back(name);
    flags.push_back(value);
  };
  add("--pipeline-schedule", schedule);
  if (chunks > 1 && (schedule == "interleaved" || schedule == "1f1b")) {
    int64_t group = drawGroup(dice, pp, m.microBatches);
    if (group != pp || dice.percent(30))
      add("--microbatch-group-size-per-virtual-pipeline-stage", text(group));
  }
  if ((chunks == 1 || pp > 2) && dice.percent(20))
    flags.push_back("--no-overlap-p2p-communication");
  int64_t stages = pp * chunks;
  bool even = m.layers % stages == 0 && dice.percent(50), automatic = !even && dice.percent(20);
  bool layersOfStage = even && chunks > 1 && schedule != "zb-v" && dice.percent(50);
  if (layersOfStage)
    add("--num-layers-per-virtual-pipeline-stage", text(m.layers / stages));
  else if ((even || automatic) && chunks > 1 && (schedule != "zb-v" || dice.percent(50)))
    add("--num-virtual-stages-per-pipeline-rank", text(chunks));
  if (automatic)
    add("--pipeline-model-parallel-layout", "auto");
  if (even || automatic)
    return;
  std::vector<std::string> drawn = drawStages(dice, m, pp, chunks);
  add("--pipeline-model-parallel-layout", dice.percent(30) ? printLayout(drawn) : plainLayout(drawn));
}

/// What the histogram counts beside sizes.
void describe(RandomPlan &p) {
  const ModelConfig &m = p.model;
  bool window = std::any_of(m.kinds.begin(), m.kinds.end(), [](const LayerKind &k) { return k.window > 0; });
  auto yes = [](bool value) { return std::string(value ? "yes" : "no"); };
  p.traits["dp"] = text(p.plan.dp);
  p.traits["tp"] = text(p.plan.tp);
  p.traits["pp"] = text(p.plan.pp);
  p.traits["axes above 1"] = text(p.axes());
  p.traits["sequence parallel"] = yes(p.plan.sequenceParallel);
  p.traits["schedule"] = p.plan.pp > 1 ? p.plan.schedule : "no pipeline";
  p.traits["chunks"] = text(p.plan.vpp);
  p.traits["receives"] = p.plan.vpp == 1 ? "where needed" : p.plan.overlapP2p ? "posted" : "several chunks, where needed";
  p.traits["layout stated"] = p.plan.layout.empty() ? "no" : p.plan.layout == autoLayout ? "auto" : "yes";
  p.traits["mtp"] = p.plan.layout == autoLayout && m.mtpDepths > 0 ? "auto" : describeMtp(parseLayout(layoutText(p.plan, m)).stages);
  p.traits["layout"] = p.plan.pp > 1 ? describeLayout(parseLayout(layoutText(p.plan, m)).stages) : "one stage";
  p.traits["micro-batches"] = text(p.plan.microBatches());
  p.traits["family"] = m.family;
  p.traits["head is embedding"] = !m.tied ? "no" : p.plan.pp > 1 ? "on two stages" : "on one stage";
  p.traits["grouped queries"] = yes(m.kvHeads < m.heads);
  p.traits["kv heads repeated"] = yes(p.plan.tpRep > 1);
  p.traits["padded vocabulary"] = yes(p.plan.paddedVocab != m.vocab);
  p.traits["biases"] = yes(m.qkvBias || m.mlpBias);
  p.traits["dropout"] = yes(p.plan.hiddenDropout > 0);
  p.traits["sliding window"] = !window ? "no" : m.kinds.size() > 1 ? "on some layers" : "on all layers";
}

} // namespace

std::string RandomPlan::commandLine(const std::string &modelFile) const {
  std::string line = "lf-compile " + modelFile;
  for (const std::string &flag : flags)
    line += " " + (flag.find('|') == std::string::npos ? flag : "\"" + flag + "\"");
  return line;
}

RandomPlan randomPlan(uint64_t seed, const std::string &folder) {
  Dice forModel(groupOf(seed) * 2 + 1), dice(seed * 2);
  RandomModel m = randomModel(forModel);
  RandomPlan p;
  p.seed = seed;
  p.config = m.config.dump(2);
  writeFile(folder + "/config.json", p.config, "config.json");

  Sizes s = drawSizes(dice, m);
  std::vector<std::string> common = {"--fp64",
                                     "--seq-length",
                                     text(m.seqLength),
                                     "--global-batch-size",
                                     text(m.columns * m.microBatches),
                                     "--make-vocab-size-divisible-by",
                                     text(m.vocabMultiple)};
  if (m.dropout > 0) {
    common.push_back("--hidden-dropout");
    common.push_back(number(m.dropout));
  }
  if (m.mtp > 0)
    common.insert(common.end(), {"--mtp-num-layers", text(m.mtp), "--mtp-loss-scaling-factor", number(m.mtpFactor)});
  p.flags = common;
  for (auto [flag, value] :
       {std::pair("--micro-batch-size", m.columns / s.dp), {"--dp", s.dp}, {"--tp", s.tp}, {"--pp", s.pp}}) {
    p.flags.push_back(flag);
    p.flags.push_back(text(value));
  }
  if (s.tp > 1 && m.seqLength % s.tp == 0 && dice.percent(60))
    p.flags.push_back("--sequence-parallel");
  if (s.pp > 1)
    drawPipeline(dice, m, s.pp, p.flags);
  auto parse = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), folder + "/config.json");
    flags.push_back("--dry-run"); // no output file is asked for
    return parseCompile(flags, p.model).plan;
  };
  common.push_back("--micro-batch-size");
  common.push_back(text(m.columns));
  p.single = parse(common);
  p.plan = parse(p.flags);
  describe(p);
  return p;
}

} // namespace lf::test
