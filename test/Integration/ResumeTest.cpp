//===- ResumeTest.cpp - A run that is killed loses nothing ------------------===//
//
// On a compiled program of four ranks: killed at step 5 and resumed, and killed fifty times while it saves.
//
//===----------------------------------------------------------------------===//
#include "FaultyProgram.h"
#include "lf/Support/Json.h"
#include <chrono>
#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <optional>
#include <random>

using namespace lf::test;

namespace {

class Resume : public testing::Test {
protected:
  static void SetUpTestSuite() {
    scratch = new Scratch;
    train = compileFaulty(*scratch, "train", {"--dp", "2", "--pp", "2", "--hidden-dropout", "0.1"});
  }
  static void TearDownTestSuite() { delete scratch; }

  /// A run of ten steps, or of fewer, with its Hugging Face weights in scratch/name.
  static std::vector<std::string> words(const std::string &name, std::vector<std::string> more) {
    std::vector<std::string> all = {train,
                                    "--data-path",
                                    *scratch / "tokens.bin",
                                    "--lr",
                                    "1e-2",
                                    "--train-iters",
                                    "10",
                                    "--log-interval",
                                    "1",
                                    "--save-hf",
                                    *scratch / name,
                                    "--metrics",
                                    *scratch / (name + ".jsonl")};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  static std::string bytes(const std::string &name) { return lf::readFile(*scratch / name, "a result"); }
  /// step, loss and norm of each line of the metrics, as they were printed.
  static std::vector<std::string> numbers(const std::string &name) {
    std::vector<std::string> out;
    std::ifstream file(*scratch / (name + ".jsonl"));
    for (std::string line; std::getline(file, line);) {
      lf::Json json = lf::parseJson(line, "metrics");
      out.push_back(json["step"].dump() + " " + json["loss"].dump() + " " + json["grad_norm"].dump() + " " +
                    json["lr"].dump());
    }
    return out;
  }

  static Scratch *scratch;
  static std::string train;
};
Scratch *Resume::scratch = nullptr;
std::string Resume::train;

TEST_F(Resume, KilledAtStepFiveGivesTheSameBits) {
  Finished whole = runProgram(words("whole", {"--save", *scratch / "whole-save"}));
  ASSERT_EQ(whole.code, 0) << whole.output;
  // A checkpoint a step; the fault comes when step 6 begins, with five steps done.
  std::string save = *scratch / "save";
  Finished killed = runProgram(words("resumed", {"--save", save, "--save-interval", "1"}), {"LF_FAULT=0 6 die"});
  ASSERT_EQ(killed.code, 128 + 9) << killed.output;
  ASSERT_EQ(bytes("save/latest_checkpointed_iteration.txt"), "5\n");
  Finished resumed = runProgram(words("resumed", {"--load", save, "--save", save}));
  ASSERT_EQ(resumed.code, 0) << resumed.output;
  EXPECT_EQ(bytes("resumed/model.safetensors"), bytes("whole/model.safetensors"));
  for (const char *file : {"rank_00000.lfckpt", "rank_00001.lfckpt", "rank_00002.lfckpt", "rank_00003.lfckpt"})
    EXPECT_EQ(bytes(std::string("save/iter_0000010/") + file), bytes(std::string("whole-save/iter_0000010/") + file))
        << file;
  EXPECT_EQ(numbers("resumed"), numbers("whole"));
  EXPECT_EQ(numbers("whole").size(), 10u);
}

TEST_F(Resume, FiftyKillsDuringSavesLoseNothing) {
  const std::string save = *scratch / "kills";
  const std::vector<std::string> constant = {"--lr-decay-style", "constant", "--save", save};
  auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), constant.begin(), constant.end());
    return words("k", more);
  };
  auto newest = [&]() -> int64_t { return std::stoll(bytes("kills/latest_checkpointed_iteration.txt")); };
  auto named = [&](const char *format, int64_t step) {
    char name[64];
    std::snprintf(name, sizeof name, format, static_cast<long long>(step));
    return save + name;
  };
  auto unfinished = [&](int64_t step) { return named("/.iter_%07lld.tmp", step); };
  auto published = [&](int64_t step) { return named("/iter_%07lld", step); };
  ASSERT_EQ(runProgram(with({"--train-iters", "1"})).code, 0);
  std::mt19937 random(11);
  int kills = 0, attempts = 0;
  for (; kills < 50 && attempts < 400; ++attempts) {
    const int64_t before = newest();
    // Within a save after its first: files are being written once the folder of the next step stands there.
    std::optional<std::chrono::steady_clock::time_point> due;
    auto now = [&] {
      if (!due && newest() > before && std::filesystem::exists(unfinished(newest() + 1)))
        due = std::chrono::steady_clock::now() + std::chrono::microseconds(random() % 3000);
      return due && std::chrono::steady_clock::now() >= *due;
    };
    Finished run = runProgram(with({"--train-iters", "100000", "--load", save, "--save-interval", "1"}), {}, 60, now);
    ASSERT_EQ(run.code, 128 + 9) << run.output; // 4: what the last kill left behind could not be loaded
    ASSERT_GT(newest(), before) << "a checkpoint was lost";
    // Not published yet, or published and not yet named as the newest.
    kills += std::filesystem::exists(unfinished(newest() + 1)) || std::filesystem::exists(published(newest() + 1));
  }
  EXPECT_EQ(kills, 50) << "of " << attempts << " runs";
  const std::string steps = std::to_string(newest() + 1);
  Finished last = runProgram(with({"--train-iters", steps, "--load", save}));
  ASSERT_EQ(last.code, 0) << last.output;
  ASSERT_EQ(runProgram(words("w", {"--train-iters", steps, "--lr-decay-style", "constant"})).code, 0);
  EXPECT_EQ(bytes("k/model.safetensors"), bytes("w/model.safetensors")) << "after " << steps << " steps";
  EXPECT_EQ(numbers("k"), numbers("w"));
}

} // namespace
