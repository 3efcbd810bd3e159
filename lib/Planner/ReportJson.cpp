//===- ReportJson.cpp - plan.json with what follows from the plan -----------===//
//
// The members of lf/Plan/PlanJson.h, then stages, programs, memory and traffic.
//
//===----------------------------------------------------------------------===//
#include "lf/Plan/PlanJson.h"
#include "lf/Planner/PlanReport.h"

namespace lf {

Json fullPlanJson(const PlanReport &r, bool everyRank) {
  Json stages = Json::array(), programs = Json::array(), memory = Json::array(), traffic = Json::array();
  for (const StageReport &s : r.stages)
    stages.push_back({{"stage", s.stage}, {"pp", s.pp}, {"chunk", s.chunk}, {"items", s.items}, {"layers", s.layers}});
  for (const Program &program : r.programs) {
    Json lines = Json::array();
    for (const Action &a : program)
      lines.push_back(Json::array({std::string(1, letter(a.pass)), a.microBatch, a.chunk}));
    programs.push_back(std::move(lines));
  }
  for (const PipelineRankReport &pp : r.ranks)
    for (int64_t rank = pp.firstRank; rank < pp.firstRank + (everyRank ? pp.ranks : 1); ++rank) {
      const RankMemory &m = pp.memory;
      memory.push_back({{"rank", rank},
                        {"parameters", m.parameters},
                        {"gradients", m.gradients},
                        {"optimizer", m.optimizer},
                        {"saved", m.saved},
                        {"workspace", m.workspace},
                        {"staging", m.staging},
                        {"peak", m.peak()},
                        {"driver", m.driver},
                        {"host", m.host}});
      for (const Traffic &t : pp.traffic)
        traffic.push_back(
            {{"rank", rank}, {"axis", t.axis}, {"kind", t.kind}, {"messages", t.messages}, {"bytes", t.bytes}});
    }
  Json json = planJson(r.plan, r.model), out = Json::object();
  for (auto &[name, value] : json.items()) {
    out[name] = value;
    if (name == "layout")
      out["stages"] = std::move(stages);
    if (name == "schedule") {
      out["programs"] = std::move(programs);
      out["memory"] = std::move(memory);
      out["traffic"] = std::move(traffic);
    }
  }
  out["tokens_per_step"] = r.tokensPerStep();
  out["flops_per_token"] = r.flopsPerToken;
  return out;
}

std::string planText(const Json &plan) {
  std::string text = "{";
  for (const auto &[name, value] : plan.items()) {
    text += (text.size() > 1 ? ",\n " : "\n ") + Json(name).dump() + ": ";
    if (!value.is_array() || value.empty()) {
      text += value.dump();
      continue;
    }
    text += "[";
    for (size_t i = 0; i < value.size(); ++i)
      text += (i ? ",\n  " : "\n  ") + value[i].dump();
    text += "]";
  }
  return text + "\n}\n";
}

} // namespace lf
