//===- PlanJson.cpp - plan.json, out and in ---------------------------------===//
//
// See PlanJson.h and ReadPlan.h.
//
//===----------------------------------------------------------------------===//
#include "lf/Plan/PlanJson.h"

#include "ReadPlan.h"
#include "lf/Model/Parameters.h"
#include "lf/Plan/ParallelPlan.h"
#include "lf/Plan/PipelineSplit.h"
#include "lf/Schedule/Algorithms.h"
#include "lf/Schedule/BalancedSplit.h"
#include "lf/Schedule/StageLayout.h"
#include "lf/Support/Error.h"
#include "lf/Support/Text.h"

#include <algorithm>
#include <tuple>

namespace lf {

/// Size names of plan.json and the flags that state them.
static const std::pair<const char *, const char *> sizeFlags[] = {{"tp", "tensor-model-parallel-size"},
                                                                  {"pp", "pipeline-model-parallel-size"},
                                                                  {"cp", "context-parallel-size"},
                                                                  {"ep", "expert-model-parallel-size"},
                                                                  {"etp", "expert-tensor-parallel-size"},
                                                                  {"dp", "data-parallel-size"},
                                                                  {"vpp", "num-virtual-stages-per-pipeline-rank"}};

static Json modelJson(const ModelConfig &m) {
  return {{"family", m.family},    {"layers", m.layers}, {"hidden", m.hidden},
          {"ffn", m.ffn},          {"heads", m.heads},   {"kv_heads", m.kvHeads},
          {"head_dim", m.headDim}, {"vocab", m.vocab},   {"parameters", parameterCount(m)}};
}

std::string layoutText(const ParallelPlan &plan, const ModelConfig &model) {
  if (plan.layout == autoLayout) { // without costs: as if ends were free
    std::vector<ChainItem> chain(static_cast<size_t>(model.layers), ChainItem{'t', 1});
    chain.insert(chain.begin(), {'E', 0});
    chain.insert(chain.end(), static_cast<size_t>(model.mtpDepths), ChainItem{'m', 1});
    chain.push_back({'L', 0});
    return printLayout(balancedSplit(chain, plan.pp * plan.vpp, plan.vpp));
  }
  if (!plan.layout.empty())
    return plan.layout;
  return withMtp(model.mtpDepths, evenLayout(model.layers, plan.pp, plan.vpp));
}

Json planJson(const ParallelPlan &plan, const ModelConfig &model) {
  Json json;
  json["version"] = 1;
  json["model"] = modelJson(model);
  json["sizes"] = {{"tp", plan.tp},   {"pp", plan.pp}, {"cp", plan.cp},   {"ep", plan.ep},
                   {"etp", plan.etp}, {"dp", plan.dp}, {"vpp", plan.vpp}, {"world", plan.world()}};
  json["layout"] = layoutText(plan, model);
  json["micro_batches"] = plan.microBatches();
  json["schedule"] = plan.schedule;
  json["options"] = Json::object();
  for (const auto &[name, value] : plan.options)
    json["options"][name] = value;
  return json;
}

// ---- Reading
// ---------------------------------------------------------------------------------------------------------

static std::string at(const PlanFile &file, const std::string &pointer) { return file.where + ": " + quote(pointer); }

static std::string word(const PlanFile &file, const std::string &pointer, const Json &value) {
  if (value.is_string())
    return value.get<std::string>();
  if (value.is_boolean() || value.is_number())
    return value.dump();
  throw usage(at(file, pointer) + ": expected a string, a number or true or false, got " + show(value));
}

static void give(PlanFile &file, std::string name, const std::string &pointer, const Json &value) {
  std::replace(name.begin(), name.end(), '_', '-');
  const Flag *flag = findFlag(name);
  std::string origin = at(file, pointer);
  if (!flag || (flag->stand != Stand::plan && flag->stand != Stand::later)) {
    std::string near = nearest(name, flagNames());
    throw usage(origin + ": expected a plan flag, got " + quote(name) +
                (near.empty() || near == name ? "" : "; did you mean " + quote(near) + "?"));
  }
  std::vector<std::string> values;
  if (value.is_array() && flag->kind != Kind::words)
    throw usage(origin + ": expected one value, got " + show(value));
  if (value.is_array())
    for (const Json &entry : value)
      values.push_back(word(file, pointer, entry));
  else
    values.push_back(word(file, pointer, value));
  if (flag->kind == Kind::words && values.size() == 1) { // written as one string
    std::string all = values.front();
    values.clear();
    for (size_t from = 0; from <= all.size();) {
      size_t to = std::min(all.find(' ', from), all.size());
      values.push_back(all.substr(from, to - from));
      from = to + 1;
    }
  }
  Given stated = giveFlag(*flag, std::move(values), origin);
  auto [other, fresh] = file.flags.try_emplace(flag->name, stated);
  if (!fresh && other->second.values != stated.values) {
    const std::string whole = other->second.origin, pointers = whole.substr(file.where.size() + 2);
    throw usage(origin + ": expected " + other->second.value() + " as " + pointers + " says, got " + stated.value() +
                "; mend one of the two");
  }
}

/// The value of a flag, or what stands for it when it is not given.
static std::string valueOf(const GivenFlags &flags, const char *name, const char *otherwise = "1") {
  auto it = flags.find(name);
  return it == flags.end() ? otherwise : it->second.value();
}

/// The samples of a step may be stated twice.
static void checkMicroBatches(const PlanFile &file) {
  auto batch = file.flags.find("global-batch-size");
  if (batch == file.flags.end() || file.flags.contains("world-size"))
    return;
  int64_t samples = std::stoll(batch->second.value()), step = 0;
  int64_t micro = std::stoll(valueOf(file.flags, "micro-batch-size"));
  int64_t dp = std::stoll(valueOf(file.flags, "data-parallel-size"));
  if (__builtin_mul_overflow(micro, dp, &step) || samples % step != 0 || samples / step == file.microBatches)
    return; // what does not divide is refused later, unless the command line says otherwise
  auto plain = [](int64_t n) { return std::to_string(n); };
  throw usage(at(file, "/micro_batches") + ": expected " + plain(samples / step) + " (" +
              quote("/options/global-batch-size") + " " + plain(samples) + " / (micro-batch " + plain(micro) +
              " x dp " + plain(dp) + ")), got " + plain(file.microBatches) + "; mend one of the two");
}

/// "stages" spells "layout" out, so an edit of one alone is a contradiction.
static void checkStages(const PlanFile &file, const Json &stages) {
  const std::vector<std::string> layout = parseLayout(file.layout, at(file, "/layout")).stages;
  auto differs = [&](const std::string &pointer, const std::string &expected, const std::string &got) {
    return usage(at(file, pointer) + ": expected " + expected + ", as \"/layout\" " + quote(file.layout) +
                 " has, got " + got + "; stages follow from the layout: edit that, and remove \"stages\"");
  };
  if (stages.size() != layout.size())
    throw differs("/stages", std::to_string(layout.size()) + " stages", std::to_string(stages.size()));
  for (size_t i = 0; i < layout.size(); ++i) {
    Json items = Json::array();
    for (char item : layout[i])
      items.push_back(std::string(1, item));
    const std::string pointer = "/stages/" + std::to_string(i);
    if (!stages[i].is_object() || !stages[i].contains("items"))
      throw differs(pointer, "a stage with items", show(stages[i]));
    if (stages[i]["items"] != items)
      throw differs(pointer + "/items", items.dump(), show(stages[i]["items"]));
  }
}

PlanFile readPlan(const std::string &path) {
  PlanFile file;
  file.where = path;
  const Json json = parseJson(readFile(path, "\"--plan\""), path);
  if (!json.is_object())
    throw usage(path + ": expected a JSON object (a plan), got " + show(json));
  auto member = [&](const char *name, Json::value_t type, const std::string &what) -> const Json * {
    auto it = json.find(name);
    if (it == json.end() || it->is_null())
      return nullptr;
    bool fits = type == Json::value_t::number_integer ? it->is_number_integer() : it->type() == type;
    if (!fits)
      throw usage(at(file, std::string("/") + name) + ": expected " + what + ", got " + show(*it));
    return &*it;
  };
  const Json *version = member("version", Json::value_t::number_integer, "the number 1");
  if (!version || *version != 1)
    throw usage(at(file, "/version") + ": expected 1, got " + (version ? version->dump() : "nothing"));
  if (const Json *model = member("model", Json::value_t::object, "an object"))
    file.model = *model;
  if (const Json *options = member("options", Json::value_t::object, "an object of flags"))
    for (const auto &[name, value] : options->items())
      give(file, name, pointerTo("/options", name), value);
  file.chunksStated = file.flags.contains("num-virtual-stages-per-pipeline-rank");
  if (const Json *sizes = member("sizes", Json::value_t::object, "an object of sizes")) {
    int64_t product = 1;
    for (const auto &[name, value] : sizes->items()) {
      std::string pointer = pointerTo("/sizes", name);
      bool known = name == "world";
      for (auto [size, flag] : sizeFlags)
        if (name == size) {
          give(file, flag, pointer, value);
          known = true;
          if (name == "tp" || name == "pp" || name == "cp" || name == "dp")
            product *= std::stoll(file.flags.at(flag).value());
          if (product > int64_t{1} << 31)
            throw usage(at(file, "/sizes") + ": expected at most 2^31 ranks, got more");
        }
      if (!known)
        throw usage(at(file, pointer) + ": expected one of tp, pp, cp, ep, etp, dp, vpp and world, got " + quote(name));
    }
    if (sizes->contains("world") && (*sizes)["world"] != product)
      throw usage(at(file, "/sizes/world") + ": expected " + std::to_string(product) + " (tp x pp x cp x dp), got " +
                  show((*sizes)["world"]));
  }
  if (const Json *schedule = member("schedule", Json::value_t::string, "a string")) {
    // What 1F1B became with the file's chunks, unless stated, is 1F1B again without them.
    auto chunks = file.flags.find("num-virtual-stages-per-pipeline-rank");
    std::string count = chunks == file.flags.end() ? "1" : chunks->second.value();
    bool became =
        *schedule == "interleaved" && valueOf(file.flags, "pipeline-schedule", "1f1b") == "1f1b" && count != "1";
    give(file, "pipeline-schedule", "/schedule", became ? Json("1f1b") : *schedule);
  }
  if (const Json *layout = member("layout", Json::value_t::string, "a string")) {
    if (*layout == autoLayout)
      give(file, "pipeline-model-parallel-layout", "/layout", *layout);
    else
      file.layout = layout->get<std::string>();
  }
  if (const Json *stages = member("stages", Json::value_t::array, "an array of stages"); stages && !file.layout.empty())
    checkStages(file, *stages);
  if (const Json *count = member("micro_batches", Json::value_t::number_integer, "an integer")) {
    if (*count < 1 || *count > (int64_t{1} << 31) - 1)
      throw usage(at(file, "/micro_batches") + ": expected an integer from 1 to 2147483647, got " + count->dump());
    file.microBatches = count->get<int64_t>();
    checkMicroBatches(file);
  }
  return file;
}

/// Whether `layout` is what no stated layout means.
static bool isEven(const ModelConfig &model, int64_t pp, int64_t vpp, const std::string &layout) {
  try {
    return model.layers % pp == 0 && layout == withMtp(model.mtpDepths, evenLayout(model.layers, pp, vpp));
  } catch (const Error &) {
    return false; // what does not divide into chunks was stated
  }
}

static bool any(const GivenFlags &flags, const std::vector<const char *> &names) {
  return std::any_of(names.begin(), names.end(), [&](const char *name) { return flags.contains(name); });
}

static const char *const layoutFlag = "pipeline-model-parallel-layout";
static const char *const chunksFlag = "num-virtual-stages-per-pipeline-rank";
static const char *const chunkLayersFlag = "num-layers-per-virtual-pipeline-stage";

static bool statesAuto(const GivenFlags &flags) { return valueOf(flags, layoutFlag, "") == autoLayout; }

/// The file's "layout" and its options say the same stages, where options say any.
static void checkLayoutMember(const PlanFile &file, const ModelConfig &model, int64_t pp, int64_t vpp) {
  const std::vector<std::string> stages = parseLayout(file.layout, at(file, "/layout")).stages;
  std::string stated, by;
  if (auto it = file.flags.find(layoutFlag); it != file.flags.end()) {
    stated = it->second.value();
    by = it->second.origin.substr(file.where.size() + 2);
  } else if (any(file.flags, unevenFlags)) {
    UnevenSplit split;
    for (auto [name, count] : {std::pair(unevenFlags[0], &split.first), {unevenFlags[1], &split.last}})
      if (auto it = file.flags.find(name); it != file.flags.end())
        *count = std::stoll(it->second.value());
    split.embedding = valueOf(file.flags, unevenFlags[2]) == "true";
    split.loss = valueOf(file.flags, unevenFlags[3]) == "true";
    stated = withMtp(model.mtpDepths, unevenLayout(model.layers, pp, vpp, split));
    by = "the flags for uneven splits in \"/options\"";
  }
  if (!stated.empty() && stated != autoLayout && parseLayout(stated, at(file, "/options")).stages != stages)
    throw usage(at(file, "/layout") + ": expected the stages of " + by + ", " + quote(stated) + ", got " +
                quote(file.layout) + "; mend one of the two, or remove the option");
}

/// The file's layout, of which nobody on the command line says another. One that nobody stated follows the sizes; one
/// that was stated, or edited in the file, is kept, and so is what "auto" came to, as long as it still answers the
/// question.
static void mergeLayout(GivenFlags &merged, GivenFlags &given, const PlanFile &file, const ModelConfig &model) {
  const bool sized = file.flags.contains("pipeline-model-parallel-size");
  const int64_t pp = std::stoll(valueOf(sized ? file.flags : given, "pipeline-model-parallel-size"));
  const int64_t vpp = std::stoll(valueOf(file.flags, chunksFlag));
  const bool automatic = statesAuto(file.flags);
  checkLayoutMember(file, model, pp, vpp);
  if (any(file.flags, unevenFlags) ||
      (!automatic && !file.flags.contains(layoutFlag) && isEven(model, pp, vpp, file.layout)))
    return;
  const std::vector<std::string> stages = parseLayout(file.layout).stages;
  const int64_t count = static_cast<int64_t>(stages.size());
  int64_t depths = 0;
  for (const std::string &stage : stages)
    depths += std::count(stage.begin(), stage.end(), 'm');
  const std::tuple<const char *, int64_t, const char *> facts[] = {
      {"pipeline-model-parallel-size", pp, "as many pipeline ranks as it was made for"},
      {chunksFlag, count / pp, "as many stages a pipeline rank as it has"},
      {"mtp-num-layers", depths, "as many depths of multi-token prediction as it has"}};
  for (auto [name, number, what] : facts) {
    auto it = given.find(name);
    if (it == given.end() || std::stoll(it->second.value()) == number)
      continue;
    if (automatic)
      return; // another question: "auto" answers again
    throw usage(it->second.origin + ": expected " + std::to_string(number) + " beside " + at(file, "/layout") + " " +
                quote(file.layout) + " (" + what + "), got " + it->second.value() +
                "; state a layout too (--layout, which may be auto), or remove the flag");
  }
  const ScheduleKind kind =
      parseSchedule(valueOf(given, "pipeline-schedule", valueOf(file.flags, "pipeline-schedule", "1f1b").c_str()));
  if (automatic && chunksOf(kind) > 0 && chunksOf(kind) != count / pp)
    return;
  given.erase(chunksFlag); // the layout says it
  LayoutRequest request;
  request.pp = pp;
  request.layers = model.layers;
  request.mtp = std::stoll(valueOf(given, "mtp-num-layers", std::to_string(model.mtpDepths).c_str()));
  request.chunks = chunksOf(kind);
  request.placement = placementOf(kind);
  request.place = at(file, "/layout");
  if (pp <= 1 << 20) // more are refused as such
    resolveLayout(file.layout, request);
  merged.insert_or_assign(layoutFlag, giveFlag(*findFlag(layoutFlag), {file.layout}, at(file, "/layout")));
}

void mergePlan(GivenFlags &given, const PlanFile &file, ModelConfig model) {
  // The file speaks of the model with its own depths of multi-token prediction.
  auto depths = file.flags.find("mtp-num-layers");
  model.mtpDepths = depths == file.flags.end() ? 0 : std::stoll(depths->second.value());
  const Json own = modelJson(model);
  if (file.model.is_object())
    for (const auto &[name, value] : file.model.items())
      if (own.contains(name) && own[name] != value)
        throw usage(at(file, pointerTo("/model", name)) + ": expected " + show(own[name]) +
                    " as the model file says, got " + show(value));

  // One decision may be stated in several ways: the command line's way drops all of the file's.
  std::vector<const char *> splits = unevenFlags;
  splits.push_back(layoutFlag);
  GivenFlags merged = file.flags;
  for (const std::vector<const char *> &group :
       {std::vector{"fp32", "bf16", "fp64"}, {"data-parallel-size", "world-size"}, splits})
    if (any(given, group))
      for (const char *name : group)
        merged.erase(name);
  if (given.contains(chunkLayersFlag) || (given.contains(layoutFlag) && !statesAuto(given)))
    for (const char *name : {chunksFlag, chunkLayersFlag, layoutFlag})
      merged.erase(name);
  if (given.contains(chunksFlag))
    merged.erase(chunkLayersFlag);
  if (!file.layout.empty() && !any(given, splits) && !given.contains(chunkLayersFlag))
    mergeLayout(merged, given, file, model);
  // The chunks in /sizes follow from a layout, from layers a stage, and from ZB-V, which has two.
  bool vee = valueOf(file.flags, "pipeline-schedule", "1f1b") == "zb-v" && valueOf(file.flags, chunksFlag) == "2" &&
             !file.chunksStated;
  if (vee || (any(merged, {layoutFlag, chunkLayersFlag}) && !statesAuto(merged)))
    merged.erase(chunksFlag);
  for (const auto &[name, flag] : given)
    merged.insert_or_assign(name, flag);
  given = std::move(merged);
}

} // namespace lf
