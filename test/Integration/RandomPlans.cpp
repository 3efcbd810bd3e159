//===- RandomPlans.cpp - lf-random-plans: any plan equals one rank ----------===//
//
// Judges a range of seeds, says which kinds of plans they were, and how to run a failing one again; or prints plans, for
// programs that run elsewhere.
//
//===----------------------------------------------------------------------===//
#include "Judge.h"
#include "Scratch.h"
#include "lf/Support/Error.h"
#include "lf/Support/Json.h"
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sys/wait.h>
#include <unistd.h>

using namespace lf;
using namespace lf::test;

namespace {

struct Options {
  uint64_t first = 0, count = 200;
  int jobs = 2;
  std::string keep;    ///< one seed only: where its files stay
  int64_t printed = 0; ///< ranks of the plans to print instead; 0: judge
};

Options parse(int argc, char **argv) {
  Options o;
  auto need = [&](int i) -> std::string {
    if (i + 1 >= argc)
      throw usage("\"" + std::string(argv[i]) + "\": expected a value, got none");
    return argv[i + 1];
  };
  auto integer = [&](int i, uint64_t least) {
    std::string word = need(i);
    char *end = nullptr;
    uint64_t value = std::strtoull(word.c_str(), &end, 10);
    if (word.empty() || *end || word[0] == '-' || value < least)
      throw usage("\"" + std::string(argv[i]) + "\": expected an integer of at least " + std::to_string(least) +
                  ", got \"" + word + "\"");
    return value;
  };
  for (int i = 1; i < argc; i += 2) {
    std::string flag = argv[i];
    if (flag == "--first")
      o.first = integer(i, 0);
    else if (flag == "--count")
      o.count = integer(i, 1);
    else if (flag == "--jobs")
      o.jobs = static_cast<int>(integer(i, 1));
    else if (flag == "--seed")
      o.first = integer(i, 0), o.count = 1, o.jobs = 1;
    else if (flag == "--keep")
      o.keep = need(i);
    else if (flag == "--print")
      o.printed = static_cast<int64_t>(integer(i, 2)); // no plan is drawn for one
    else
      throw usage("expected --first N, --count N, --jobs N, --seed N, --keep DIR or --print RANKS --keep DIR, got \"" + flag + "\"");
  }
  return o;
}

/// One worker: every jobs-th group of seeds, a line of JSON for each seed to `report`.
void work(const Options &o, int worker, const std::string &folder, const std::string &report, const std::string &tool) {
  std::filesystem::create_directories(folder);
  Judge judge(folder, tool);
  std::ofstream out(report);
  for (uint64_t seed = o.first; seed < o.first + o.count; ++seed) {
    if (groupOf(seed) % static_cast<uint64_t>(o.jobs) != static_cast<uint64_t>(worker))
      continue;
    Json line = {{"seed", seed}, {"axes", 0}};
    std::string fault, command;
    try {
      RandomPlan plan = randomPlan(seed, folder);
      line["axes"] = plan.axes();
      line["traits"] = plan.traits;
      command = plan.commandLine(folder + "/config.json");
      fault = judge.fault(plan);
    } catch (const std::exception &error) {
      fault = std::string("no plan: ") + error.what();
    }
    line["fault"] = fault;
    if (!fault.empty())
      std::fprintf(stderr, "seed %llu: %s\n    plan: %s\n    again: %s --seed %llu --keep DIR\n",
                   static_cast<unsigned long long>(seed), fault.c_str(), command.c_str(), tool.c_str(),
                   static_cast<unsigned long long>(seed));
    else if (!o.keep.empty())
      std::printf("equal: %s\n", command.c_str());
    out << line.dump() << "\n" << std::flush;
  }
}

using Histogram = std::map<std::string, std::map<std::string, int>>;

void print(const Histogram &histogram) {
  for (const auto &[trait, values] : histogram) {
    std::printf("  %-18s", trait.c_str());
    for (const auto &[value, count] : values)
      std::printf("  %s: %d", value.c_str(), count);
    std::printf("\n");
  }
}

int judgeAll(const Options &o, const std::string &tool) {
  auto start = std::chrono::steady_clock::now();
  Scratch scratch;
  std::vector<pid_t> workers;
  for (int i = 0; i < o.jobs; ++i) {
    pid_t child = fork();
    if (child == 0) {
      std::string number = std::to_string(i);
      work(o, i, o.keep.empty() ? scratch / number : o.keep, scratch / (number + ".jsonl"), tool);
      std::fflush(stdout);
      _exit(0);
    }
    workers.push_back(child);
  }
  int failures = 0, lost = 0;
  for (pid_t child : workers) {
    int status = 0;
    lost += child < 0 || waitpid(child, &status, 0) != child || status != 0;
  }
  Histogram histogram;
  uint64_t judged = 0, three = 0;
  for (int i = 0; i < o.jobs; ++i) {
    std::ifstream lines(scratch / (std::to_string(i) + ".jsonl"));
    for (std::string text; std::getline(lines, text); ++judged) {
      Json line = parseJson(text, "report");
      failures += line["fault"] != "";
      three += line["axes"] >= 3;
      if (line.contains("traits"))
        for (const auto &[trait, value] : line["traits"].items())
          ++histogram[trait][value.get<std::string>()];
    }
  }
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("%llu plans, %d failed, %.1f s (seeds %llu to %llu; float64, 3 steps, 2 or more micro-batches, a clip "
              "that acts)\n",
              static_cast<unsigned long long>(judged), failures, seconds, static_cast<unsigned long long>(o.first),
              static_cast<unsigned long long>(o.first + o.count - 1));
  print(histogram);
  if (lost || judged != o.count) {
    std::printf("expected %llu verdicts of %d workers, got %llu; %d workers ended early\n",
                static_cast<unsigned long long>(o.count), o.jobs, static_cast<unsigned long long>(judged), lost);
    return 1;
  }
  // What makes the test worth its time: a generator that stops drawing these fails.
  if (o.count >= 100) {
    if (three * 4 < judged) {
      std::printf("expected a quarter of the plans or more to use three axes, got %llu of %llu\n",
                  static_cast<unsigned long long>(three), static_cast<unsigned long long>(judged));
      return 1;
    }
    for (auto [trait, values] : std::map<std::string, size_t>{{"family", 5},
                                                              {"layout", 4},
                                                              {"schedule", 6},
                                                              {"chunks", 3},
                                                              {"layout stated", 3},
                                                              {"mtp", 5},
                                                              {"head is embedding", 3},
                                                              {"sliding window", 3},
                                                              {"kv heads repeated", 2},
                                                              {"padded vocabulary", 2},
                                                              {"sequence parallel", 2},
                                                              {"biases", 2},
                                                              {"dropout", 2}})
      if (histogram[trait].size() < values) {
        std::printf("expected %zu kinds of \"%s\" or more, got %zu\n", values, trait.c_str(), histogram[trait].size());
        return 1;
      }
  }
  return failures ? 1 : 0;
}

/// Plans of `printed` ranks, a line each: "SEED<tab>FLAG<tab>FLAG...", with their models in keep/SEED/config.json.
int printPlans(const Options &o) {
  uint64_t found = 0;
  for (uint64_t seed = o.first; found < o.count; ++seed) {
    std::string folder = o.keep + "/" + std::to_string(seed);
    std::filesystem::create_directories(folder);
    RandomPlan plan = randomPlan(seed, folder);
    if (plan.plan.world() != o.printed) {
      std::filesystem::remove_all(folder);
      continue;
    }
    ++found;
    std::printf("%llu", static_cast<unsigned long long>(seed));
    for (const std::string &flag : plan.flags)
      std::printf("\t%s", flag.c_str());
    std::printf("\n");
  }
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  setenv("LF_TIMEOUT_SECONDS", "60", 0); // a plan that hangs is a failure, not a test that does not end
  try {
    Options options = parse(argc, argv);
    if (options.printed && options.keep.empty())
      throw usage("\"--print\": expected --keep DIR beside it, got none");
    return options.printed ? printPlans(options) : judgeAll(options, argv[0]);
  } catch (const Error &error) {
    std::cerr << "error: " << error.what() << "\n";
    return static_cast<int>(error.code);
  }
}
