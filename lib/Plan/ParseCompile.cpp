//===- ParseCompile.cpp - The command line of lf-compile --------------------===//
//
// Words become given flags (Arguments), plan.json joins them (ReadPlan), cxxopts holds the declarations, types,
// defaults and the help text; what follows from flags and model together is ResolvePlan's.
//
//===----------------------------------------------------------------------===//
#include "Arguments.h"
#include "ModelFlags.h"
#include "ReadPlan.h"
#include "lf/Plan/ParallelPlan.h"
#include "lf/Plan/PipelineSplit.h"
#include "lf/Schedule/Algorithms.h"
#include "lf/Support/Error.h"
#include "lf/Support/Text.h"

#include <cstdlib>
#include <cxxopts.hpp>

namespace lf {

static std::string plain(int64_t n) { return std::to_string(n); }

static cxxopts::Options declare() {
  cxxopts::Options options("lf-compile", "Compiles a model and a parallel plan to a training executable.");
  options.positional_help("MODEL").custom_help("[flags] -o OUT");
  for (const Flag &flag : allFlags()) {
    if (flag.stand != Stand::plan && flag.stand != Stand::call)
      continue;
    std::shared_ptr<cxxopts::Value> type;
    switch (flag.kind) {
    case Kind::toggle:
      type = cxxopts::value<bool>();
      break;
    case Kind::integer:
      type = cxxopts::value<int64_t>();
      break;
    case Kind::real: // Arguments has checked it
    case Kind::word:
      type = cxxopts::value<std::string>();
      break;
    case Kind::words:
      type = cxxopts::value<std::vector<std::string>>();
      break;
    }
    if (!flag.neutral.empty() && flag.kind != Kind::toggle)
      type = type->default_value(flag.neutral);
    std::string names = flag.name;
    for (const std::string &alias : flag.aliases)
      names = alias.size() == 1 ? alias + "," + names : names + "," + alias;
    options.add_option(flag.group, cxxopts::Option(names, flag.help, type, flag.metavar));
  }
  return options;
}

std::string compileHelp() {
  std::string text = declare().help({"files", "sizes", "TP", "PP", "MTP", "shapes", "numerics"});
  std::vector<std::string> later;
  for (const Flag &flag : allFlags())
    if (flag.stand == Stand::later)
      later.push_back("--" + flag.name);
  return text + "\nKnown, but not implemented yet:\n  " + list(later) + "\n";
}

/// The given flags, typed by cxxopts.
static cxxopts::ParseResult typed(const GivenFlags &given) {
  std::vector<std::string> words = {"lf-compile"};
  for (const auto &[name, g] : given) {
    if (g.flag->stand != Stand::plan && g.flag->stand != Stand::call)
      continue;
    for (const std::string &value : g.values)
      if (g.flag->kind == Kind::toggle) {
        words.push_back("--" + name + "=" + value);
      } else {
        words.push_back("--" + name);
        words.push_back(value);
      }
  }
  std::vector<const char *> argv;
  for (const std::string &word : words)
    argv.push_back(word.c_str());
  try {
    return declare().parse(static_cast<int>(argv.size()), argv.data());
  } catch (const cxxopts::exceptions::exception &e) {
    throw usage(std::string("expected flags as --help lists them, got: ") + e.what());
  }
}

/// DP is stated, or what the world leaves, or 1.
static int64_t dataParallel(const ParallelPlan &p, const GivenFlags &given, const cxxopts::ParseResult &flags) {
  auto stated = given.find("data-parallel-size"), world = given.find("world-size");
  if (world == given.end())
    return flags["data-parallel-size"].as<int64_t>();
  int64_t size = flags["world-size"].as<int64_t>(), step = p.tp * p.pp * p.cp;
  const std::string product = "tp " + plain(p.tp) + " x pp " + plain(p.pp) + " x cp " + plain(p.cp);
  if (size % step != 0)
    throw usage(world->second.origin + ": expected a multiple of " + plain(step) + " (" + product + "), got " +
                plain(size) + " (" + plain(size) + " % " + plain(step) + " = " + plain(size % step) + "); use " +
                neighbours(size, step));
  if (stated != given.end() && flags["data-parallel-size"].as<int64_t>() != size / step)
    throw usage(stated->second.origin + ": expected " + plain(size / step) + " (world size " + plain(size) + " / (" +
                product + ")), got " + stated->second.value() + "; state one of the two");
  return size / step;
}

static Dtype dtype(const GivenFlags &given, Target target) {
  std::vector<std::string> asked;
  Dtype type = target == Target::cpu ? Dtype::f32 : Dtype::bf16;
  for (auto [name, value] : {std::pair{"fp32", Dtype::f32}, {"bf16", Dtype::bf16}, {"fp64", Dtype::f64}})
    if (auto it = given.find(name); it != given.end() && it->second.value() == "true") {
      asked.push_back(it->second.origin);
      type = value;
    }
  if (asked.size() > 1)
    throw usage("expected one of \"--fp32\", \"--bf16\" and \"--fp64\", got " + list(asked, "and"));
  if (type == Dtype::bf16 && target == Target::cpu)
    throw usage(asked.front() + ": expected float32 or float64 on the cpu target, got bfloat16; pass --target cuda or "
                                "--fp32");
  if (type == Dtype::f64 && target == Target::cuda)
    throw usage(asked.front() + ": expected float32 or bfloat16 on the cuda target, got float64; pass --target cpu");
  return type;
}

/// At most one of the three ways to ask for several chunks; a flag of 1 asks for nothing, and "auto" needs their
/// number.
static void oneWayOfChunks(const GivenFlags &given) {
  std::vector<std::string> asked;
  for (const char *name : {"num-layers-per-virtual-pipeline-stage", "num-virtual-stages-per-pipeline-rank",
                           "pipeline-model-parallel-layout"})
    if (auto it = given.find(name); it != given.end())
      if (const std::string &value = it->second.value();
          name != std::string("num-virtual-stages-per-pipeline-rank") || value != "1")
        if (value != autoLayout)
          asked.push_back(it->second.origin);
  if (asked.size() > 1)
    throw usage("expected one of the three that say how many stages a pipeline rank has, got " + list(asked, "and") +
                "; a layout alone says it all");
}

static SplitFlags splitFlags(const GivenFlags &given, const cxxopts::ParseResult &flags) {
  SplitFlags split;
  if (given.contains("decoder-first-pipeline-num-layers"))
    split.uneven.first = flags["decoder-first-pipeline-num-layers"].as<int64_t>();
  if (given.contains("decoder-last-pipeline-num-layers"))
    split.uneven.last = flags["decoder-last-pipeline-num-layers"].as<int64_t>();
  split.uneven.embedding = flags["account-for-embedding-in-pipeline-split"].as<bool>();
  split.uneven.loss = flags["account-for-loss-in-pipeline-split"].as<bool>();
  if (given.contains("num-layers-per-virtual-pipeline-stage"))
    split.layersPerStage = flags["num-layers-per-virtual-pipeline-stage"].as<int64_t>();
  return split;
}

/// How many chunks a rank has is the schedule's to say where it has a number of its own. A 1 that nobody typed, as the
/// sizes of a plan.json have it, asks for nothing.
static void chunksOfSchedule(const ParallelPlan &p, const GivenFlags &given, bool typed) {
  auto asked = given.find("num-virtual-stages-per-pipeline-rank");
  const int64_t has = chunksOf(parseSchedule(p.schedule));
  if (asked != given.end() && has > 0 && p.vpp != has && (p.vpp > 1 || typed))
    throw usage(asked->second.origin + ": expected " + plain(has) + (has == 1 ? " chunk" : " chunks") +
                " on a rank, as \"--pipeline-schedule\" " + quote(p.schedule) + " has, got " + plain(p.vpp) +
                "; remove the flag or choose another schedule");
}

/// Of the flags for uneven splits those that are given, as typed.
static std::vector<std::string> unevenFlagsOf(const GivenFlags &given) {
  std::vector<std::string> out;
  for (const char *name : unevenFlags)
    if (auto it = given.find(name); it != given.end() && it->second.value() != "false")
      out.push_back(it->second.origin);
  return out;
}

/// The layout as given. It says it all, so no flag may say a part of it.
static std::string layout(const GivenFlags &given, const SplitFlags &split, const std::string &schedule) {
  auto stated = given.find("pipeline-model-parallel-layout");
  if (stated != given.end() && split.uneven.asked())
    throw usage(stated->second.origin + ": expected a layout or flags for uneven splits, got both; the layout alone "
                                        "says how many layers each stage has");
  if (split.uneven.asked() && schedule == "zb-v")
    throw usage(
        list(unevenFlagsOf(given), "and") +
        ": expected a layout (--layout) under \"--pipeline-schedule\" \"zb-v\", got the layers "
        "of some stages; a rank's two stages are the first and the last of what is left, so the layout has to say how "
        "many layers each has");
  return stated == given.end() ? "" : stated->second.value();
}

/// Drops options that only repeat a default, so that plan.json says what differs.
static void dropDefaults(ParallelPlan &p, const ModelConfig &m, Target target) {
  auto drop = [&](const char *name, const std::string &value) {
    if (auto it = p.options.find(name); it != p.options.end() && it->second == value)
      p.options.erase(it);
  };
  for (const Flag &flag : allFlags())
    drop(flag.name.c_str(), flag.neutral);
  drop("seq-length", plain(m.maxPositions));
  drop("global-batch-size", plain(p.microBatch * p.dp));
  drop("attention-dropout", number(m.attentionDropout));
  if (m.embeddingDropout == m.hiddenDropout)
    drop("hidden-dropout", number(m.hiddenDropout));
  drop(target == Target::cpu ? "fp32" : "bf16", "true");
}

CompileRequest parseCompile(const std::vector<std::string> &args, ModelConfig &model, Asks asks) {
  CompileRequest request;
  Arguments arguments = parseArguments(args);
  GivenFlags &given = arguments.flags;
  if (auto it = given.find("help"); it != given.end() && it->second.value() == "true") {
    request.help = true;
    return request;
  }
  if (arguments.positional.size() != 1)
    throw usage(arguments.positional.empty()
                    ? "expected a model (a config.json, its folder, or a model.json), got none; --help shows the usage"
                    : "expected one model, got " + plain(static_cast<int64_t>(arguments.positional.size())) +
                          " words that are no flags: " + quote(arguments.positional[0]) + " and " +
                          quote(arguments.positional[1]) + (arguments.positional.size() > 2 ? " and more" : ""));
  if (asks == Asks::plan)
    for (const auto &[name, g] : given)
      if (g.flag->stand == Stand::call && name != "plan")
        throw usage(g.origin + ": expected plan flags alone, since nothing is written, got " + quote(g.value()) +
                    "; pass it to lf-compile");
  request.model = arguments.positional.front();
  PlanFile file;
  if (auto it = given.find("plan"); it != given.end())
    file = readPlan(request.planIn = it->second.value());
  std::vector<std::string> ignored;
  for (const GivenFlags *from : {&given, &file.flags})
    if (auto it = from->find("ignore-config-field"); it != from->end())
      ignored.insert(ignored.end(), it->second.values.begin(), it->second.values.end());
  model = readModel(request.model, ignored);
  checkModelFlags(given, model);
  std::string oneChunk; // --vpp 1 as typed; that of the file is held against its own layout below
  if (auto it = given.find("num-virtual-stages-per-pipeline-rank"); it != given.end() && it->second.value() == "1")
    oneChunk = it->second.origin;
  const bool chunksTyped = file.chunksStated || given.contains("num-virtual-stages-per-pipeline-rank");
  if (!file.where.empty())
    mergePlan(given, file, model);

  const cxxopts::ParseResult flags = typed(given);
  auto text = [&](const char *name) { return flags.count(name) ? flags[name].as<std::string>() : std::string(); };
  auto integer = [&](const char *name) { return flags.count(name) ? flags[name].as<int64_t>() : int64_t{0}; };
  auto real = [&](const char *name) { return std::strtod(flags[name].as<std::string>().c_str(), nullptr); };
  request.output = text("output");
  request.emit = flags["emit"].as<std::string>();
  request.report = text("report");
  request.planTrace = text("plan-trace");
  request.planOut = text("plan-out");
  request.stopAfter = text("stop-after");
  request.dumpPhases = text("dump-phases-to");
  request.dryRun = flags["dry-run"].as<bool>();
  request.target = flags["target"].as<std::string>() == "cpu" ? Target::cpu : Target::cuda;
  if (asks == Asks::program && request.output.empty() && !request.dryRun && request.stopAfter.empty())
    throw usage("expected an output file (-o OUT), got none; --dry-run and --stop-after need none");

  ParallelPlan &p = request.plan;
  p.tp = flags["tensor-model-parallel-size"].as<int64_t>();
  p.pp = flags["pipeline-model-parallel-size"].as<int64_t>();
  p.cp = flags["context-parallel-size"].as<int64_t>();
  p.ep = flags["expert-model-parallel-size"].as<int64_t>();
  p.etp = flags["expert-tensor-parallel-size"].as<int64_t>();
  p.vpp = flags["num-virtual-stages-per-pipeline-rank"].as<int64_t>();
  for (int64_t size : {p.tp, p.pp, p.cp}) // their product must fit before anything is divided by it
    if (size > 1 << 20)
      throw usage("expected at most " + plain(1 << 20) + " ranks, got a degree of " + plain(size));
  p.dp = dataParallel(p, given, flags);
  request.worldSize = integer("world-size");
  request.dataParallelStated = given.contains("data-parallel-size");
  p.sequenceParallel = flags["sequence-parallel"].as<bool>();
  model.mtpDepths = flags["mtp-num-layers"].as<int64_t>();
  p.mtpFactor = real("mtp-loss-scaling-factor");
  oneWayOfChunks(given);
  p.schedule = flags["pipeline-schedule"].as<std::string>();
  chunksOfSchedule(p, given, chunksTyped);
  const SplitFlags split = splitFlags(given, flags);
  p.layout = layout(given, split, p.schedule);
  p.groupSize = integer("microbatch-group-size-per-virtual-pipeline-stage");
  p.overlapP2p = !flags["no-overlap-p2p-communication"].as<bool>();
  p.seqLength = integer("seq-length");
  p.microBatch = flags["micro-batch-size"].as<int64_t>();
  p.globalBatch = integer("global-batch-size");
  if (p.globalBatch == 0 && file.microBatches > 0 &&
      (__builtin_mul_overflow(p.microBatch, p.dp, &p.globalBatch) ||
       __builtin_mul_overflow(p.globalBatch, file.microBatches, &p.globalBatch)))
    throw usage(file.where + ": \"/micro_batches\": expected a batch that fits 64 bits, got " +
                plain(file.microBatches) + " x micro-batch " + plain(p.microBatch) + " x dp " + plain(p.dp));
  p.dtype = dtype(given, request.target);
  if (flags.count("hidden-dropout"))
    p.hiddenDropout = real("hidden-dropout");
  p.vocabMultiple = flags["make-vocab-size-divisible-by"].as<int64_t>();
  p.deterministic = flags["deterministic-mode"].as<bool>();
  p.memoryBudget = integer("memory-budget");

  for (const auto &[name, g] : given)
    if (g.flag->stand == Stand::plan && name != "world-size")
      for (const std::string &value : g.values)
        p.options[name] += (p.options[name].empty() ? "" : " ") + value;
  if (p.dp > 1)
    p.options["data-parallel-size"] = plain(p.dp);
  if (file.microBatches > 1) // stated by "/micro_batches" alone, perhaps
    p.options["global-batch-size"] = plain(p.globalBatch);
  resolvePlan(p, model, split);
  // It asks for nothing beside a layout or layers a stage, but may not say another number than they do.
  if (!oneChunk.empty() && p.vpp != 1)
    throw usage(oneChunk + ": expected " + plain(p.vpp) +
                ", the stages that a pipeline rank has by the other flags, got 1; remove it");
  // The file's layout says how many stages a rank has; its sizes must say the same.
  auto layoutGiven = given.find("pipeline-model-parallel-layout");
  auto chunks = file.flags.find("num-virtual-stages-per-pipeline-rank");
  if (chunks != file.flags.end() && !file.layout.empty() && layoutGiven != given.end() &&
      layoutGiven->second.origin.starts_with(file.where + ": ") && layoutGiven->second.value() != autoLayout &&
      chunks->second.value() != plain(p.vpp))
    throw usage(chunks->second.origin + ": expected " + plain(p.vpp) +
                ", as many stages a pipeline rank as the file's "
                "layout has, got " +
                chunks->second.value() + "; mend one of the two");
  dropDefaults(p, model, request.target);
  return request;
}

} // namespace lf
