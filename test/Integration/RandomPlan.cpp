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
#include "lf/Support/Text.h"
#include <algorithm>
#include <stdexcept>

namespace lf::test {

namespace {

struct Sizes {
  int64_t dp = 1, tp = 1, pp = 1;
};

/// Any sizes within eight ranks; half of the time all three axes, where the model and the batch have room for them.
Sizes drawSizes(Dice &dice, const RandomModel &m) {
  if (m.tp % 2 == 0 && m.columns % 2 == 0 && dice.percent(50))
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

/// Layers cut at random places: stages without a layer, E or L alone, and empty stages all occur.
std::vector<std::string> drawStages(Dice &dice, int64_t layers, int64_t pp) {
  std::vector<int64_t> cuts = {0, layers};
  for (int64_t i = 1; i < pp; ++i)
    cuts.push_back(dice.between(0, layers));
  std::sort(cuts.begin(), cuts.end());
  std::vector<std::string> stages;
  for (size_t i = 0; i < static_cast<size_t>(pp); ++i)
    stages.push_back(std::string(static_cast<size_t>(cuts[i + 1] - cuts[i]), 't'));
  stages.front().insert(0, "E");
  stages.back() += "L";
  return stages;
}

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

std::string text(int64_t n) { return std::to_string(n); }

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
  p.flags = common;
  for (auto [flag, value] :
       {std::pair("--micro-batch-size", m.columns / s.dp), {"--dp", s.dp}, {"--tp", s.tp}, {"--pp", s.pp}}) {
    p.flags.push_back(flag);
    p.flags.push_back(text(value));
  }
  if (s.tp > 1 && m.seqLength % s.tp == 0 && dice.percent(60))
    p.flags.push_back("--sequence-parallel");
  if (s.pp > 1) {
    p.flags.push_back("--pipeline-schedule");
    p.flags.push_back(dice.of<std::string>({"gpipe", "1f1b", "1f1b"}));
    std::vector<std::string> stages = drawStages(dice, m.layers, s.pp);
    bool canonical = dice.percent(30);
    if (m.layers % s.pp != 0 || dice.percent(70)) {
      p.flags.push_back("--pipeline-model-parallel-layout");
      p.flags.push_back(canonical ? printLayout(stages) : plainLayout(stages));
    }
  }
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
