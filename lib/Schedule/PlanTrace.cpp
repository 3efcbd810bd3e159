//===- PlanTrace.cpp - A schedule for a trace viewer ----------------------===//
//
// Chrome's JSON trace format: complete events for actions and messages, flow events from one rank to the other.
//
//===----------------------------------------------------------------------===//
#include "lf/Schedule/Timetable.h"

#include <cstdio>
#include <map>

namespace lf {
namespace {

std::string number(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.3f", value);
  return text;
}

class Writer {
public:
  void event(const std::string &members) { text += (text.empty() ? "\n{" : ",\n{") + members + "}"; }
  std::string finish() const { return "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[" + text + "\n]}\n"; }

private:
  std::string text;
};

/// A rank has two tracks, as in the trace of a run: its passes, and its messages.
std::string at(int64_t rank, double time, bool messages = false) {
  return "\"pid\":0,\"tid\":" + std::to_string(2 * rank + messages) + ",\"ts\":" + number(time);
}

} // namespace

std::string planTrace(const SchedulingProblem &problem, const Programs &programs, const Timetable &times,
                      double scale, Receives receives) {
  Writer writer;
  Placement place = problem.place();
  writer.event("\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0,\"args\":{\"name\":\"planned schedule\"}");
  // start of [pass, stage, micro-batch], to which arrows point
  std::map<std::array<int64_t, 3>, double> starts;
  for (int64_t rank = 0; rank < static_cast<int64_t>(programs.size()); ++rank)
    for (size_t i = 0; i < programs[rank].size(); ++i) {
      const Action &a = programs[rank][i];
      starts[{static_cast<int64_t>(a.pass), place.stageOf(rank, a.chunk), a.microBatch}] = times.spans[rank][i].start;
    }

  int64_t flow = 0;
  for (int64_t rank = 0; rank < static_cast<int64_t>(programs.size()); ++rank) {
    for (bool messages : {false, true})
      writer.event("\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":0,\"tid\":" + std::to_string(2 * rank + messages) +
                   ",\"args\":{\"name\":\"pp" + std::to_string(rank) + (messages ? " messages\"}" : " passes\"}"));
    for (size_t i = 0; i < programs[rank].size(); ++i) {
      const Action &a = programs[rank][i];
      const Span &span = times.spans[rank][i];
      int64_t stage = place.stageOf(rank, a.chunk);
      std::string pass(1, letter(a.pass)), name = pass + std::to_string(a.microBatch);
      auto slice = [&](const std::string &verb, const std::string &category, double from, double to) {
        writer.event("\"ph\":\"X\",\"name\":\"" + verb + name + "\",\"cat\":\"" + category + "\"," +
                     at(rank, from * scale, category == "message") + ",\"dur\":" + number((to - from) * scale) +
                     ",\"args\":{\"micro_batch\":" + std::to_string(a.microBatch) + ",\"chunk\":" +
                     std::to_string(a.chunk) + ",\"stage\":" + std::to_string(stage) + "}");
      };
      if (std::optional<PlacedAction> input = inputOf(problem, rank, a); input && input->rank != rank) {
        double asked = i ? times.spans[rank][i - 1].start : 0, free = i ? times.spans[rank][i - 1].end : 0;
        if (receives == Receives::ahead)
          slice("post ", "message", asked, asked);
        slice("recv ", "message", free, span.start);
      }
      if (a.pass != Pass::W || span.end > span.start) // a stage without layers has nothing to run then
        slice("", pass, span.start, span.end);
      std::optional<PlacedAction> output = outputOf(problem, rank, a);
      if (!output || output->rank == rank)
        continue;
      int64_t target = place.stageOf(output->rank, output->action.chunk);
      std::string id = "\"cat\":\"message\",\"name\":\"" +
                       std::string(a.pass == Pass::F ? "activations" : "gradients") +
                       "\",\"id\":" + std::to_string(flow++) + ",";
      writer.event("\"ph\":\"s\"," + id + at(rank, span.end * scale));
      double used = starts[{static_cast<int64_t>(a.pass), target, a.microBatch}];
      writer.event("\"ph\":\"f\",\"bp\":\"e\"," + id + at(output->rank, used * scale));
      slice("send ", "message", span.end, span.end);
    }
  }
  return writer.finish();
}

} // namespace lf
