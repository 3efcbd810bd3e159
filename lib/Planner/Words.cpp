//===- Words.cpp - Numbers as reports show them -----------------------------===//
//
// Three significant digits with a unit; and the plan in a line.
//
//===----------------------------------------------------------------------===//
#include "lf/Model/Parameters.h"
#include "lf/Planner/PlanReport.h"
#include <cstdio>

namespace lf {

static std::string threeDigits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", value >= 100 ? 0 : value >= 10 ? 1 : 2, value);
  return text;
}

std::string bytesText(int64_t bytes) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  for (; value >= 1024 && unit < 5; ++unit)
    value /= 1024;
  return (unit == 0 ? std::to_string(bytes) : threeDigits(value)) + " " + units[unit];
}

std::string countText(double count) {
  static const char *const units[] = {"", " K", " M", " B", " T", " P", " E"};
  int unit = 0;
  for (; count >= 1000 && unit < 6; ++unit)
    count /= 1000;
  return (unit == 0 ? std::to_string(static_cast<int64_t>(count)) : threeDigits(count)) + units[unit];
}

std::string planName(const PlanReport &r) {
  std::string text = r.model.family + " " + countText(static_cast<double>(parameterCount(r.model)));
  for (auto [name, size] : {std::pair("tp", r.plan.tp), {"pp", r.plan.pp}, {"cp", r.plan.cp}, {"dp", r.plan.dp}})
    if (size > 1)
      text += std::string(text.find(',') == std::string::npos ? ", " : " ") + name + " " + std::to_string(size);
  if (r.plan.sequenceParallel)
    text += ", sequence parallel";
  if (r.plan.pp > 1)
    text += ", " + r.plan.schedule;
  return text;
}

void addTraffic(std::vector<Traffic> &list, const Traffic &entry) {
  if (entry.messages == 0)
    return;
  for (Traffic &other : list)
    if (other.axis == entry.axis && other.kind == entry.kind) {
      other.messages += entry.messages;
      other.bytes += entry.bytes;
      return;
    }
  list.push_back(entry);
}

const PipelineRankReport &PlanReport::largest() const {
  const PipelineRankReport *most = &ranks.front();
  for (const PipelineRankReport &rank : ranks)
    if (rank.memory.needed() > most->memory.needed())
      most = &rank;
  return *most;
}

} // namespace lf
