//===- DriverCompile.cpp - What lf-compile does ------------------*- C++ -*-===//
//
// Which phases a request needs, and which files come of it.
//
//===----------------------------------------------------------------------===//
#include "DriverBudget.h"
#include "lf/Pipelines/Driver.h"
#include "lf/Support/Error.h"
#include "lf/Support/Files.h"
#include "lf/Support/Text.h"
#include "lf/Target/Link.h"
#include <filesystem>
#include <iostream>

namespace lf {

/// No file that is written may be one that is read, or another that is written.
static void refuseOverwrites(const CompileRequest &request) {
  struct Named {
    const char *flag;
    std::filesystem::path path;
  };
  std::error_code ignored;
  auto same = [&](const std::filesystem::path &a, const std::filesystem::path &b) {
    // A relative path to nothing stays relative in weakly_canonical: "x" and "./x" would differ.
    auto whole = [&](const std::filesystem::path &p) {
      return std::filesystem::weakly_canonical(std::filesystem::absolute(p, ignored), ignored);
    };
    return std::filesystem::equivalent(a, b, ignored) || whole(a) == whole(b);
  };
  std::filesystem::path model = request.model;
  if (std::filesystem::is_directory(model, ignored))
    model /= "config.json";
  std::vector<Named> read, written;
  if (!request.model.empty()) // a model that was not read from a file
    read.push_back({"the model", model});
  if (!request.planIn.empty())
    read.push_back({"--plan", request.planIn});
  for (auto [flag, path] : {std::pair("-o", &request.output), {"--plan-out", &request.planOut},
                            {"--report", &request.report}, {"--plan-trace", &request.planTrace}})
    if (!path->empty())
      written.push_back({flag, *path});
  for (size_t i = 0; i < written.size(); ++i) {
    for (const Named &other : read)
      if (same(written[i].path, other.path))
        throw usage(quote(written[i].flag) + ": expected a file of its own, got " + quote(written[i].path.string()) +
                    ", which is read as " + other.flag);
    for (size_t j = 0; j < i; ++j)
      if (same(written[i].path, written[j].path) && written[i].path != "/dev/null")
        throw usage(quote(written[i].flag) + ": expected a file of its own, got " + quote(written[i].path.string()) +
                    ", which " + quote(written[j].flag) + " names too");
  }
}

/// Legal, but seldom meant: such a stage costs a rank's time and two messages a micro-batch.
static void warnOfEmptyStages(const PlanReport &report) {
  std::string stages;
  for (const StageReport &stage : report.stages)
    if (stage.items.empty())
      stages += (stages.empty() ? "stage " : ", stage ") + std::to_string(stage.stage) + " of pipeline rank " +
                std::to_string(stage.pp);
  if (!stages.empty())
    std::cerr << "warning: " << stages << (stages.find(',') == std::string::npos ? " is" : " are")
              << " empty: what comes in is handed on\n";
}

int runCompile(const CompileRequest &request, const ModelConfig &model, const std::string &tool) {
  refuseOverwrites(request);
  bool stops = !request.stopAfter.empty();
  if (stops && request.dryRun)
    throw usage(
        "\"--dry-run\": expected no \"--stop-after\" beside it, which prints the program after a phase instead of "
        "what the plan costs, got both; remove one of the two");
  Phase last = stops ? parsePhase(request.stopAfter, "--stop-after") : request.dryRun ? Phase::runtime : Phase::emit;
  for (const std::string &notice : request.plan.notices)
    std::cerr << "notice: " << notice << "\n";

  Compiled compiled = compile(request, model, last, stops);
  for (const std::string &warning : compiled.warnings)
    std::cerr << "warning: " << warning << "\n";
  const PlanReport *report = compiled.report ? &*compiled.report : nullptr;
  if (report && request.plan.layout == autoLayout)
    std::cerr << "notice: --pipeline-model-parallel-layout auto is \"" << report->plan.layout << "\"\n";
  if (report)
    warnOfEmptyStages(*report);
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
      report->largest().memory.needed() > request.plan.memoryBudget)
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
