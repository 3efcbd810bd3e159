//===- main.cpp - lf-verify: a plan against a single rank ------------------===//
//
// Shrinks the model, trains it in float64 under the plan and on one rank, and compares everything that training yields.
//
//===----------------------------------------------------------------------===//
#include "Execute.h"
#include "Shrink.h"
#include "lf/Pipelines/Driver.h"
#include "lf/Planner/PlanReport.h"
#include "lf/Support/Error.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>

namespace {

constexpr double tolerance = 1e-9;
constexpr size_t shown = 20; ///< rows of a table of differences

/// A folder that is removed at the end, unless something is left to look at.
struct Scratch {
  std::string path;
  bool keep = false;
  Scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lf-verify-XXXXXX").string();
    if (!mkdtemp(pattern.data()))
      throw lf::usage("expected a folder for temporary files (TMPDIR), got none that can be written");
    path = pattern;
  }
  ~Scratch() {
    std::error_code error;
    if (!keep)
      std::filesystem::remove_all(path, error);
  }
};

void writeTokens(const std::string &path, const lf::Shrunk &small, int64_t steps) {
  std::ofstream file(path, std::ios::binary);
  std::mt19937 random(5);
  int64_t count = steps * small.plan.globalBatch * small.plan.seqLength + 1;
  for (int64_t i = 0; i < count; ++i) {
    auto token = static_cast<uint16_t>(random() % static_cast<uint32_t>(small.model.vocab));
    file.put(static_cast<char>(token & 255)).put(static_cast<char>(token >> 8));
  }
}

void print(const std::vector<lf::Difference> &rows) {
  std::printf("  %-10s %-60s %12s %12s %12s\n", "what", "name", "norm", "difference", "relative");
  for (const lf::Difference &d : rows)
    std::printf("  %-10s %-60s %12.4e %12.4e %12.4e\n", d.what.c_str(), d.name.c_str(), d.size, d.difference,
                d.relative);
}

int verify(const std::vector<std::string> &words, const std::string &tool) {
  lf::ModelConfig model;
  lf::CompileRequest request = lf::parseCompile(words, model, lf::Asks::plan);
  if (request.help) {
    std::cout << "Usage: lf-verify MODEL [plan flags of lf-compile]\n"
                 "Exit 0: the plan equals one rank; 1: it does not, with a table of what differs.\n\n"
              << lf::compileHelp();
    return 0;
  }
  // What the plan may not ask of the model is refused in words about the model, not about the small one. "auto" becomes
  // the layout of the model, too: that of the small one could be another.
  request.plan.layout = lf::compile(request, model, lf::Phase::runtime, /*printed=*/false).report->plan.layout;
  lf::Shrunk small = lf::shrink(model, request.plan);
  std::printf("model: %s\n", small.says.empty() ? "as it is" : small.says.c_str());
  Scratch scratch;
  lf::RunSettings settings;
  settings.tokens = scratch.path + "/tokens.bin";
  writeTokens(settings.tokens, small, settings.steps);
  lf::RunResult single = compileAndRun(small.model, small.single, settings, scratch.path + "/single", tool);
  if (*std::min_element(single.gradNorm.begin(), single.gradNorm.end()) <= settings.clip)
    throw lf::Error(lf::Exit::data, "expected gradient norms above the clip " + std::to_string(settings.clip) +
                                        ", so that clipping is verified, got a smaller one");
  lf::RunResult plan = compileAndRun(small.model, small.plan, settings, scratch.path + "/plan", tool);

  std::vector<lf::Difference> all = compareRuns(plan, single), wrong, worst;
  for (const char *what : {"loss", "mtp loss", "grad norm", "gradient", "weight"}) {
    const lf::Difference *most = nullptr;
    for (const lf::Difference &d : all)
      if (d.what == what && (!most || d.relative > most->relative))
        most = &d;
    if (most)
      worst.push_back(*most);
  }
  for (const lf::Difference &d : all)
    if (!(d.relative <= tolerance))
      wrong.push_back(d);
  std::printf("ranks: %lld against 1, float64, %lld steps, replicas equal bit for bit\n",
              static_cast<long long>(small.plan.world()), static_cast<long long>(settings.steps));
  if (wrong.empty()) {
    std::printf("equal: %zu losses, %zu gradients, %zu weights; the worst of each:\n", plan.loss.size(),
                plan.gradients.size(), plan.weights.size());
    print(worst);
    return 0;
  }
  std::printf("not equal: %zu of %zu comparisons are beyond %g; the first by layer:\n", wrong.size(), all.size(),
              tolerance);
  print({wrong.begin(), wrong.begin() + static_cast<std::ptrdiff_t>(std::min(shown, wrong.size()))});
  if (wrong.size() > shown)
    std::printf("  and %zu more\n", wrong.size() - shown);
  scratch.keep = true;
  std::printf("both runs are kept in %s\n", scratch.path.c_str());
  return static_cast<int>(lf::Exit::notEqual);
}

} // namespace

int main(int argc, char **argv) {
  try {
    return verify(std::vector<std::string>(argv + 1, argv + argc), argv[0]);
  } catch (const lf::Error &error) {
    std::fflush(stdout);
    std::cerr << "error: " << error.what() << "\n";
    for (const std::string &note : error.notes)
      std::cerr << "note: " << note << "\n";
    return static_cast<int>(error.code);
  } catch (const std::exception &error) {
    std::cerr << "error: expected the file system and memory to serve, got: " << error.what() << "\n";
    return static_cast<int>(lf::Exit::usage);
  }
}
