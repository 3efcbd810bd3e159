//===- TrainTest.cpp - lf_main end to end on a tiny program ---------------===//
//
// One, two, four and eight ranks train the same weights; what the run writes is what the user page says.
//
//===----------------------------------------------------------------------===//
#include "TinyProgram.h"

#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace lf::rt::test;

namespace {

std::vector<std::string> flags(const Folder &folder, const std::string &name, std::vector<std::string> more = {}) {
  std::vector<std::string> all = {
      "--data-path", folder / "tokens.bin",      "--train-iters", "6",          "--lr", "0.05", "--log-interval", "1",
      "--metrics",   folder / (name + ".jsonl"), "--save-hf",     folder / name};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

void expect_near(const std::map<std::string, std::vector<double>> &got,
                 const std::map<std::string, std::vector<double>> &want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (auto &[name, values] : want) {
    ASSERT_TRUE(got.count(name)) << name;
    ASSERT_EQ(got.at(name).size(), values.size()) << name;
    for (size_t i = 0; i < values.size(); ++i)
      EXPECT_NEAR(got.at(name)[i], values[i], tolerance) << name << "[" << i << "]";
  }
}

TEST(Train, EveryMeshTrainsTheSameModel) {
  Folder folder;
  write_tokens(folder);
  std::vector<std::string> gradients = {"--dump-gradients", folder / "g1"};
  Result one = run(TinyProgram(1, 1, 1), flags(folder, "one", gradients));
  ASSERT_EQ(one.code, 0) << one.err;
  auto weights = tensors(folder / "one/model.safetensors"), grads = tensors(folder / "g1/gradients.safetensors");
  EXPECT_EQ(weights.at("model.embed_tokens.weight").size(), 13u * 4u);
  std::vector<double> loss = column(folder / "one.jsonl", "loss"), norm = column(folder / "one.jsonl", "grad_norm");
  ASSERT_EQ(loss.size(), 6u);
  EXPECT_LT(loss[5], loss[0]);
  constexpr int32_t meshes[][3] = {{1, 2, 1}, {1, 1, 2}, {2, 1, 1}, {2, 2, 1}, {1, 2, 2}, {2, 2, 2}};
  for (auto [pp, dp, tp] : meshes) {
    std::string name = std::to_string(pp) + std::to_string(dp) + std::to_string(tp);
    setenv("LF_CHECK_REPLICAS", "1", 1);
    Result many = run(TinyProgram(pp, dp, tp), flags(folder, name, {"--dump-gradients", folder / ("g" + name)}));
    unsetenv("LF_CHECK_REPLICAS");
    ASSERT_EQ(many.code, 0) << name << many.err;
    expect_near(tensors(folder / (name + "/model.safetensors")), weights, 1e-12);
    expect_near(tensors(folder / ("g" + name + "/gradients.safetensors")), grads, 1e-12);
    std::vector<double> l = column(folder / (name + ".jsonl"), "loss"),
                        n = column(folder / (name + ".jsonl"), "grad_norm");
    for (size_t i = 0; i < 6; ++i) {
      EXPECT_NEAR(l.at(i), loss[i], 1e-12) << name;
      EXPECT_NEAR(n.at(i), norm[i], 1e-12) << name;
    }
  }
}

TEST(Train, GradientDumpIsOfTheMeanLossBeforeClipping) {
  Folder folder;
  write_tokens(folder);
  ASSERT_EQ(
      run(TinyProgram(1, 1, 1), flags(folder, "a", {"--dump-gradients", folder / "g", "--clip-grad", "1e-3"})).code, 0);
  double squares = 0;
  for (auto &[name, values] : tensors(folder / "g/gradients.safetensors"))
    for (double value : values)
      squares += value * value;
  EXPECT_NEAR(std::sqrt(squares), column(folder / "a.jsonl", "grad_norm")[0], 1e-12);
}

TEST(Train, ClippingScalesTheUpdateAndZeroDisablesIt) {
  Folder folder;
  write_tokens(folder);
  // eps far above every gradient makes AdamW's step proportional to the scaled gradient
  auto run_with = [&](const std::string &name, const std::string &clip) {
    ASSERT_EQ(run(TinyProgram(1, 1, 1), {"--data-path", folder / "tokens.bin", "--train-iters", "1", "--lr", "1",
                                         "--adam-eps", "1e6", "--weight-decay", "0", "--clip-grad", clip, "--metrics",
                                         folder / (name + ".jsonl"), "--save-hf", folder / name})
                  .code,
              0);
  };
  run_with("start", "1e-30"), run_with("free", "0"), run_with("clipped", "0.01");
  double norm = column(folder / "free.jsonl", "grad_norm")[0], factor = 0.01 / (norm + 1e-6);
  auto start = tensors(folder / "start/model.safetensors"), free = tensors(folder / "free/model.safetensors");
  auto clipped = tensors(folder / "clipped/model.safetensors");
  for (auto &[name, values] : start)
    for (size_t i = 0; i < values.size(); ++i)
      EXPECT_NEAR(clipped[name][i] - values[i], factor * (free[name][i] - values[i]), 1e-14);
}

TEST(Train, TheSameRunTwiceGivesTheSameBits) {
  Folder folder;
  write_tokens(folder);
  ASSERT_EQ(run(TinyProgram(2, 2, 1, LF_F32), flags(folder, "a")).code, 0);
  ASSERT_EQ(run(TinyProgram(2, 2, 1, LF_F32), flags(folder, "b")).code, 0);
  EXPECT_EQ(read_file(folder / "a/model.safetensors"), read_file(folder / "b/model.safetensors"));
  ASSERT_EQ(run(TinyProgram(2, 2, 1, LF_F32), flags(folder, "c", {"--seed", "5"})).code, 0);
  EXPECT_NE(read_file(folder / "a/model.safetensors"), read_file(folder / "c/model.safetensors"));
}

TEST(Train, SavedWeightsLoadBackUnderAnotherPlan) {
  Folder folder;
  write_tokens(folder);
  ASSERT_EQ(run(TinyProgram(1, 1, 1), flags(folder, "a")).code, 0);
  // a rate of 0 leaves the weights as loaded
  Result again = run(TinyProgram(2, 1, 2, LF_F64, true),
                     flags(folder, "b", {"--load", folder / "a", "--lr", "0", "--train-iters", "1"}));
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(read_file(folder / "a/model.safetensors"), read_file(folder / "b/model.safetensors"));
  EXPECT_EQ(read_file(folder / "b/config.json"), TinyProgram(1, 1, 1).program.config);
}

TEST(Train, MetricsAndLogHaveWhatScriptsRead) {
  Folder folder;
  write_tokens(folder);
  Result result = run(TinyProgram(1, 2, 2), flags(folder, "a", {"--log-interval", "4"}));
  ASSERT_EQ(result.code, 0);
  std::ifstream file(folder / "a.jsonl");
  std::string line;
  ASSERT_TRUE(std::getline(file, line));
  nlohmann::json o = nlohmann::json::parse(line);
  for (const char *name : {"step", "loss", "grad_norm", "lr", "step_ms", "tokens_per_second",
                           "tokens_per_second_per_gpu", "tflops_per_gpu", "consumed_samples", "skipped"})
    EXPECT_TRUE(o.at(name).is_number()) << name;
  EXPECT_TRUE(o.at("mfu").is_null());
  EXPECT_EQ(o.at("step"), 1);
  EXPECT_EQ(o.at("consumed_samples"), 4);
  EXPECT_EQ(o.at("peak_bytes").size(), 4u);
  // 2 groups of 2 ranks, each rank sends 2 (n - 1) / n of its gradients: 32 + 64 + 8 doubles
  EXPECT_EQ(o.at("comm_bytes").at("dp").at("all_reduce"), 4 * (32 + 64 + 8) * 8);
  EXPECT_EQ(
      result.out.rfind("run: tiny | ranks 4 (local) | steps 1 to 6 of 32 tokens | weights random, seed 1234\n", 0), 0u)
      << result.out;
  EXPECT_EQ(result.out.find("step 1/6"), std::string::npos);
  EXPECT_NE(result.out.find("step 4/6 | loss "), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("step 6/6 | loss "), std::string::npos) << "the last step is always logged";
  EXPECT_NE(result.out.find("done: 6 steps"), std::string::npos);
}

TEST(Train, RateOfTheStepIsInItsMetrics) {
  Folder folder;
  write_tokens(folder);
  ASSERT_EQ(run(TinyProgram(1, 1, 1), flags(folder, "a", {"--lr-warmup-iters", "2", "--lr", "1"})).code, 0);
  std::vector<double> lr = column(folder / "a.jsonl", "lr");
  EXPECT_EQ(lr, (std::vector<double>{0.0, 0.5, 1.0, 0.75, 0.5, 0.25}));
}

TEST(Train, OnePassIsTheDefaultLength) {
  Folder folder;
  std::string tokens = write_tokens(folder, 8 * 4 * 3 + 1);
  ASSERT_EQ(run(TinyProgram(1, 1, 1), {"--data-path", tokens, "--metrics", folder / "m.jsonl"}).code, 0);
  EXPECT_EQ(column(folder / "m.jsonl", "step").size(), 3u);
}

TEST(Train, DriftOfAReplicaIsFound) {
  Folder folder;
  write_tokens(folder);
  TinyProgram::drift_rank = 1;
  setenv("LF_CHECK_REPLICAS", "1", 1);
  Result result = run(TinyProgram(1, 2, 1), flags(folder, "a"));
  unsetenv("LF_CHECK_REPLICAS");
  TinyProgram::drift_rank = -1;
  EXPECT_EQ(result.code, 1);
  EXPECT_NE(result.err.find("parameter \"layers.0.norm\": expected the same bits on rank 0 and rank 1"),
            std::string::npos)
      << result.err;
}

TEST(Train, LossThatIsNotFiniteStopsBeforeTheUpdate) {
  Folder folder;
  write_tokens(folder);
  TinyProgram::nan_at_step = 3;
  Result result = run(TinyProgram(1, 2, 1), flags(folder, "a", {"--save", folder / "s", "--save-interval", "1"}));
  TinyProgram::nan_at_step = -1;
  EXPECT_EQ(result.code, 6);
  EXPECT_NE(result.err.find("step 4: expected a finite loss"), std::string::npos) << result.err;
  EXPECT_EQ(read_file(folder / "s/latest_checkpointed_iteration.txt"), "3\n");
  EXPECT_EQ(column(folder / "a.jsonl", "step").size(), 3u);
}

} // namespace
