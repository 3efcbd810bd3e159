//===- Tables.cpp - The tables of a report, before text or HTML -------------===//
//
// See Tables.h.
//
//===----------------------------------------------------------------------===//
#include "Tables.h"
#include "lf/Model/Parameters.h"
#include "lf/Schedule/Timetable.h"
#include <algorithm>

namespace lf {

static std::string plain(int64_t n) { return std::to_string(n); }
static std::string flops(int64_t n) { return countText(static_cast<double>(n)); }

/// "0" or "0-511".
static std::string ranksText(const PipelineRankReport &r) {
  return plain(r.firstRank) + (r.ranks > 1 ? "-" + plain(r.firstRank + r.ranks - 1) : "");
}

/// "4-7", "0, 2-3", "-".
static std::string rangesText(const std::vector<int64_t> &numbers) {
  std::string text;
  for (size_t i = 0; i < numbers.size();) {
    size_t end = i;
    while (end + 1 < numbers.size() && numbers[end + 1] == numbers[end] + 1)
      ++end;
    text += (text.empty() ? "" : ", ") + plain(numbers[i]) + (end > i ? "-" + plain(numbers[end]) : "");
    i = end + 1;
  }
  return text.empty() ? "-" : text;
}

Table planTable(const PlanReport &r) {
  const ParallelPlan &p = r.plan;
  static const char *const types[] = {"float32", "float64", "bfloat16"};
  Table t{planName(r), {"", ""}, {}, 2};
  t.rows = {
      {"model", r.model.family + ", " + plain(r.model.layers) + " layers, hidden " + plain(r.model.hidden) + ", ffn " +
                    plain(r.model.ffn) + ", " + plain(r.model.heads) + " heads, " + plain(r.model.kvHeads) +
                    " kv heads of " + plain(r.model.headDim) + ", vocabulary " + plain(r.model.vocab) +
                    (p.paddedVocab != r.model.vocab ? " padded to " + plain(p.paddedVocab) : "")},
      {"parameters", plain(parameterCount(r.model)) + (r.model.tied ? " (the head is the embedding)" : "")},
      {"ranks",
       plain(p.world()) + " = pp " + plain(p.pp) + " x dp " + plain(p.dp) + " x cp " + plain(p.cp) + " x tp " +
           plain(p.tp) +
           (p.tpRep > 1 ? " (kv heads split by " + plain(p.tpKv) + ", repeated by " + plain(p.tpRep) + ")" : "")},
      {"sequence parallel", p.sequenceParallel ? "on" : "off"},
      {"batch", plain(p.globalBatch) + " = micro-batch " + plain(p.microBatch) + " x dp " + plain(p.dp) + " x " +
                    plain(p.microBatches()) + " micro-batches"},
      {"tokens a step", plain(r.tokensPerStep()) + " = " + plain(p.globalBatch) + " x sequence " + plain(p.seqLength)},
      {"flops a token", countText(r.flopsPerToken)},
      {"type", types[static_cast<int>(p.dtype)]},
      {"schedule", p.schedule + ", idle " + plain(static_cast<int64_t>(100 * bubbleFraction(r) + 0.5)) + " %"}};
  for (const std::string &notice : p.notices)
    t.rows.push_back({"notice", notice});
  return t;
}

Table stageTable(const PlanReport &r) {
  Table t{"stages",
          {"stage", "pp", "chunk", "items", "layers", "parameters/rank", "forward flops", "backward flops"},
          {},
          1};
  for (const StageReport &s : r.stages) {
    std::string items;
    for (size_t i = 0; i < s.items.size();) {
      size_t end = i;
      while (end < s.items.size() && s.items[end] == s.items[i])
        ++end;
      items += s.items[i] + (end - i > 1 ? "*" + plain(static_cast<int64_t>(end - i)) : "");
      i = end;
    }
    t.rows.push_back({plain(s.stage), plain(s.pp), plain(s.chunk), items, rangesText(s.layers), plain(s.parameters),
                      flops(s.forwardFlops), flops(s.backwardFlops)});
  }
  return t;
}

Table layerTable(const PlanReport &r) {
  Table t{"bodies, of one rank and micro-batch",
          {"body", "parameters", "forward flops", "backward flops", "saved", "sent forward", "sent backward"},
          {},
          1};
  auto sent = [](const std::vector<Traffic> &list) {
    int64_t messages = 0, bytes = 0;
    for (const Traffic &entry : list)
      messages += entry.messages, bytes += entry.bytes;
    return messages ? plain(messages) + " msg, " + bytesText(bytes) : std::string("-");
  };
  for (const LayerProfile &p : r.profiles)
    t.rows.push_back({p.owner, plain(p.parameters), flops(p.forwardFlops), flops(p.backwardFlops),
                      bytesText(p.savedBytes), sent(p.forward), sent(p.backward)});
  return t;
}

Table memoryOf(const PlanReport &r) {
  Table t{"memory of one rank",
          {"ranks", "pp", "in flight", "parameters", "gradients", "optimizer", "saved", "workspace", "staging", "peak"},
          {},
          1};
  bool device = false;
  for (const PipelineRankReport &rank : r.ranks)
    device |= rank.memory.driver > 0;
  if (device)
    t.header.push_back("driver");
  for (const PipelineRankReport &rank : r.ranks) {
    const RankMemory &m = rank.memory;
    t.rows.push_back({ranksText(rank), plain(rank.pp), plain(rank.inFlight), bytesText(m.parameters),
                      bytesText(m.gradients), bytesText(m.optimizer), bytesText(m.saved), bytesText(m.workspace),
                      bytesText(m.staging), bytesText(m.peak())});
    if (device)
      t.rows.back().push_back(bytesText(m.driver));
  }
  return t;
}

Table trafficTable(const PlanReport &r) {
  Table t{"sent by one rank in one step", {"ranks", "axis", "kind", "messages", "bytes"}, {}, 3};
  for (const PipelineRankReport &rank : r.ranks)
    for (const Traffic &entry : rank.traffic)
      t.rows.push_back({ranksText(rank), entry.axis, entry.kind, plain(entry.messages), bytesText(entry.bytes)});
  return t;
}

std::string printTable(const Table &t) {
  std::vector<size_t> width(t.header.size());
  for (size_t c = 0; c < width.size(); ++c) {
    width[c] = t.header[c].size();
    for (const auto &row : t.rows)
      width[c] = std::max(width[c], row[c].size());
  }
  auto line = [&](const std::vector<std::string> &cells) {
    std::string text = " ";
    for (size_t c = 0; c < cells.size(); ++c) {
      std::string space(width[c] - cells[c].size(), ' ');
      text += " " + (c < t.textColumns ? cells[c] + space : space + cells[c]);
    }
    return text.erase(text.find_last_not_of(' ') + 1) + "\n";
  };
  bool named = t.header.back() != ""; // a table of facts needs no header
  std::string text = t.title + "\n" + (named ? line(t.header) : "");
  for (const auto &row : t.rows)
    text += line(row);
  return text;
}

/// Durations in flops: what the plan alone knows. Messages are not priced.
static ScheduleCosts costs(const PlanReport &r) {
  ScheduleCosts c;
  for (const StageReport &s : r.stages)
    c.pass.push_back({std::max<double>(1, static_cast<double>(s.forwardFlops)),
                      std::max<double>(1, static_cast<double>(s.backwardFlops)),
                      static_cast<double>(s.weightFlops)}); // 0: nothing runs
  c.forwardTransfer.assign(r.stages.size(), 0);
  c.backwardTransfer.assign(r.stages.size(), 0);
  return c;
}

Timetable timetableOf(const PlanReport &r, double rate) {
  ScheduleCosts c = costs(r);
  for (auto &passes : c.pass)
    for (double &flops : passes)
      flops /= rate;
  return timetable(r.problem, r.programs, c, r.receives);
}

double bubbleFraction(const PlanReport &r) { return timetable(r.problem, r.programs, costs(r)).bubbleFraction(); }

std::string timetableText(const PlanReport &r, int64_t columns) {
  return printTimetable(r.problem, r.programs, timetable(r.problem, r.programs, costs(r)), 0, columns);
}

} // namespace lf
