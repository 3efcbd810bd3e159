//===- DriverCompile.cpp - What lf-compile does ------------------*- C++ -*-===//
//
// Which phases a request needs, and which files come of it.
//
//===----------------------------------------------------------------------===//
#include "DriverBudget.h"
#include "lf/Pipelines/Driver.h"
#include "lf/Support/Error.h"
#include "lf/Target/Link.h"
#include <iostream>

namespace lf {

int runCompile(const CompileRequest &request, const ModelConfig &model, const std::string &tool) {
  bool stops = !request.stopAfter.empty();
  Phase last = stops ? parsePhase(request.stopAfter, "--stop-after") : request.dryRun ? Phase::runtime : Phase::emit;
  for (const std::string &notice : request.plan.notices)
    std::cerr << "notice: " << notice << "\n";

  Compiled compiled = compile(request, model, last, stops);
  for (const std::string &warning : compiled.warnings)
    std::cerr << "warning: " << warning << "\n";
  const PlanReport *report = compiled.report ? &*compiled.report : nullptr;
  if (report && request.plan.layout == autoLayout)
    std::cerr << "notice: --pipeline-model-parallel-layout auto is \"" << report->plan.layout << "\"\n";
  for (auto [file, flag] : {std::pair(&request.planOut, "--plan-out"), {&request.report, "--report"}})
    if (!file->empty() && last < Phase::runtime)
      throw usage(std::string("\"") + flag + "\": expected --stop-after runtime or emit, got \"" + nameOf(last) +
                  "\": memory is not planned earlier");
  if (!request.planTrace.empty()) {
    if (last < Phase::schedule)
      throw usage(std::string("\"--plan-trace\": expected --stop-after schedule or later, got \"") + nameOf(last) +
                  "\": there is no schedule earlier");
    // Durations are flops; a rate makes them times of the size that a cpu needs.
    constexpr double flopsPerSecond = 1e11;
    writeFile(request.planTrace,
              planTrace(report->problem, report->programs, timetableOf(*report, flopsPerSecond), 1e6, report->receives),
              "--plan-trace");
  }
  if (!request.planOut.empty())
    writeFile(request.planOut, planText(fullPlanJson(*report)), "--plan-out");
  if (!request.report.empty())
    writeFile(request.report, htmlReport(*report), "--report");
  if (last >= Phase::runtime && request.plan.memoryBudget > 0 &&
      report->largest().memory.peak() > request.plan.memoryBudget)
    checkBudget(*report, fittingChanges(request, model));

  if (stops || request.emit == "cpp") {
    if (request.dryRun && !stops) {
      std::cout << textReport(*report);
      return 0;
    }
    if (request.output.empty())
      std::cout << compiled.text;
    else
      writeFile(request.output, compiled.text, "-o");
    return 0;
  }
  if (request.dryRun)
    std::cout << textReport(*report);
  else
    linkExecutable(compiled.text, request.output, request.target, tool);
  return 0;
}

} // namespace lf
