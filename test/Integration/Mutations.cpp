//===- Mutations.cpp - lf-mutations: what is wrong is seen ------------------===//
//
// Drops each collective and halves each accumulation of three plans, and swaps and drops the edges of a schedule; says
// what caught each. A mutant that nothing catches fails the test.
//
//===----------------------------------------------------------------------===//
#include "Execute.h"
#include "Judge.h"
#include "Mutants.h"
#include "Scratch.h"
#include "lf/Pipelines/Driver.h"
#include "lf/Support/Error.h"
#include "lf/Support/Files.h"
#include "lf/Support/Json.h"
#include "lf/Target/Link.h"
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>

using namespace lf;
using namespace lf::test;

namespace {

struct Case {
  const char *config;
  std::vector<std::string> flags;
};

// Between them: both forms of TP, kv heads that are repeated, dp, pp, a tied embedding on two stages, every bias, q/k
// norms, a sliding window, an uneven layout. No GPT-2: the gradient of its key bias is zero, so that half of it is
// right.
const Case cases[] = {
    {R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 24, "num_attention_heads": 4,
         "num_key_value_heads": 2, "head_dim": 6, "intermediate_size": 20, "vocab_size": 37,
         "max_position_embeddings": 64, "rms_norm_eps": 1e-5,
         "attention_bias": true, "mlp_bias": true, "tie_word_embeddings": true, "initializer_range": 0.2})",
     {"--dp", "2", "--tp", "2", "--pp", "2", "--sequence-parallel"}},
    {R"({"model_type": "qwen3", "num_hidden_layers": 2, "hidden_size": 20, "num_attention_heads": 8,
         "num_key_value_heads": 2, "head_dim": 4, "intermediate_size": 12, "vocab_size": 29,
         "max_position_embeddings": 64, "rms_norm_eps": 1e-5,
         "tie_word_embeddings": false, "initializer_range": 0.2})",
     {"--dp", "2", "--tp", "4"}},
    {R"({"model_type": "qwen2", "num_hidden_layers": 3, "hidden_size": 28, "num_attention_heads": 4,
         "num_key_value_heads": 2, "head_dim": 4, "intermediate_size": 14, "vocab_size": 31,
         "max_position_embeddings": 64, "rms_norm_eps": 1e-5,
         "use_sliding_window": true, "sliding_window": 5, "max_window_layers": 1, "initializer_range": 0.2})",
     {"--dp", "2", "--tp", "2", "--pp", "2", "--layout", "Et|ttL", "--pipeline-schedule", "gpipe"}},
};

// And of schedules alone, receives that are posted ahead.
const Case posted = {cases[1].config, {"--pp", "2", "--layout", "E|t|t|L"}};

using Table = std::map<std::string, std::map<std::string, int>>; ///< kind of mutant, what caught it, how many

struct Tester {
  Scratch scratch;
  std::string tool;
  Table table{};
  int survivors = 0;

  CompileRequest request(const Case &c, ModelConfig &model, bool single);
  void programs(const Case &c);
  void schedules(const Case &c);
  void record(const std::string &kind, const std::string &caught, const std::string &place);
};

CompileRequest Tester::request(const Case &c, ModelConfig &model, bool single) {
  std::vector<std::string> args = {scratch / "config.json",
                                   "--dry-run",
                                   "--fp64",
                                   "--seq-length",
                                   "16",
                                   "--global-batch-size",
                                   "6",
                                   "--micro-batch-size",
                                   single ? "2" : "1",
                                   "--make-vocab-size-divisible-by",
                                   "4"};
  if (!single)
    args.insert(args.end(), c.flags.begin(), c.flags.end());
  writeFile(scratch / "config.json", c.config, "config.json");
  CompileRequest r = parseCompile(args, model);
  r.dryRun = false;
  return r;
}

void Tester::record(const std::string &kind, const std::string &caught, const std::string &place) {
  ++table[kind][caught.empty() ? "NOTHING" : caught];
  if (caught.empty()) {
    ++survivors;
    std::printf("not caught: %s, %s\n", kind.c_str(), place.c_str());
  }
}

/// What tells the two runs apart first; empty: nothing.
std::string firstDifference(const RunResult &got, const RunResult &want) {
  for (const Difference &d : compareRuns(got, want))
    if (!(d.relative <= tolerance))
      return d.what;
  return "";
}

void Tester::programs(const Case &c) {
  ModelConfig model;
  RunSettings settings;
  settings.tokens = scratch / "tokens.bin";
  CompileRequest plan = request(c, model, false), one = request(c, model, true);
  std::string bytes;
  for (int i = 0; i < 16 * 6 * 3 + 1; ++i)
    bytes += {static_cast<char>((i * i + 7 * i / 3) % 29), '\0'};
  writeFile(settings.tokens, bytes, "tokens");
  RunResult single = compileAndRun(model, one.plan, settings, scratch / "single", tool);

  plan.emit = "cpp";
  plan.output = scratch / "plan.cpp";
  runCompile(plan, model, tool);
  MutableProgram program = makeMutable(readFile(plan.output, "the emitted program"));
  linkExecutable(program.source, scratch / "mutable", Target::cpu, tool);
  std::filesystem::create_directories(scratch / "run");
  std::string difference = firstDifference(runExecutable(scratch / "mutable", settings, scratch / "run"), single);
  if (!difference.empty())
    throw Error(Exit::notEqual, "expected the program without a mutant to equal one rank, got another " + difference);
  for (const Mutant &mutant : program.mutants) {
    setenv("LF_MUTANT", std::to_string(mutant.site).c_str(), 1);
    std::string caught;
    try {
      caught = firstDifference(runExecutable(scratch / "mutable", settings, scratch / "run"), single);
    } catch (const Error &error) {
      caught = error.code == Exit::notEqual ? "replicas" : "failure of the run";
    }
    unsetenv("LF_MUTANT");
    record(mutant.kind, caught, mutant.place + " of " + model.family);
  }
}

void Tester::schedules(const Case &c) {
  ModelConfig model;
  CompileRequest plan = request(c, model, false);
  if (plan.plan.pp == 1)
    return;
  plan.stopAfter = "schedule";
  plan.output = scratch / "schedule.mlir";
  runCompile(plan, model, tool);
  std::string opt = (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "lf-opt").string();
  auto accepted = [&](const std::string &module) {
    writeFile(scratch / "mutant.mlir", module, "the module");
    std::string command =
        "'" + opt + "' '" + (scratch / "mutant.mlir") + "' --lf-verify-schedule > '" + (scratch / "log") + "' 2>&1";
    return std::system(command.c_str()) == 0;
  };
  std::string module = readFile(plan.output, "the module");
  if (!accepted(module))
    throw Error(Exit::notEqual, "expected lf-verify-schedule to accept the schedule as it is, got: " +
                                    readFile(scratch / "log", "log"));
  for (const ScheduleMutant &mutant : mutateSchedule(module)) {
    std::string caught = accepted(mutant.module) ? "" : "lf-verify-schedule";
    // A refusal for another reason than the schedule would prove nothing.
    if (!caught.empty() && readFile(scratch / "log", "log").find("error: ") == std::string::npos)
      caught.clear();
    record(mutant.change.substr(0, mutant.change.find(':')) + " message", caught, mutant.change);
  }
}

int mutateAll(const std::string &tool) {
  Tester tester{{}, tool};
  for (const Case &c : cases) {
    tester.programs(c);
    tester.schedules(c);
  }
  tester.schedules(posted);
  int all = 0;
  std::printf("%-18s  caught by (a run is compared in the order loss, grad norm, gradient, weight)\n", "mutant");
  for (const auto &[kind, by] : tester.table) {
    std::printf("%-18s", kind.c_str());
    for (const auto &[what, count] : by) {
      std::printf("  %s: %d", what.c_str(), count);
      all += count;
    }
    std::printf("\n");
  }
  std::printf("%d mutants, %d not caught\n", all, tester.survivors);
  // Each kind has to occur, or the test no longer finds the calls that it is about.
  for (const char *kind : {"accumulate", "all_gather", "all_reduce", "dropped message", "embedding_grad +=", "exchange", "exchanged message",
                           "matmul +=", "reduce_scatter"})
    if (!tester.table.contains(kind)) {
      std::printf("expected mutants of kind \"%s\", got none\n", kind);
      return 1;
    }
  return tester.survivors ? 1 : 0;
}

} // namespace

int main(int, char **argv) {
  setenv("LF_TIMEOUT_SECONDS", "30", 0);
  try {
    return mutateAll(argv[0]);
  } catch (const Error &error) {
    std::cerr << "error: " << error.what() << "\n";
    for (const std::string &note : error.notes)
      std::cerr << "note: " << note << "\n";
    return static_cast<int>(error.code);
  }
}
