//===- TraceFileTest.cpp - What --trace writes ----------------------------===//
//
// Slices have the names of the planned trace, actions last until the next one, and every rank is in the file.
//
//===----------------------------------------------------------------------===//
#include "train/trace_file.h"
#include "TinyProgram.h"

#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

using namespace lf::rt;
using namespace lf::rt::test;

namespace {

TraceEntry entry(uint64_t sequence, OpKind kind, const char *function, int64_t issued, int64_t done, int32_t layer = -1,
                 int32_t micro_batch = -1) {
  TraceEntry e;
  e.sequence = sequence;
  e.kind = kind;
  e.issued_ns = issued;
  e.done_ns = done;
  e.layer = layer;
  e.micro_batch = micro_batch;
  copy_name(e.function, function);
  copy_name(e.what, kind == OpKind::Enter ? function : "x");
  return e;
}

nlohmann::json parse(std::string events) {
  events.resize(events.size() - 2);
  return nlohmann::json::parse("[" + events + "]");
}

TEST(TraceFile, ActionsLastUntilTheNextOneAndLayersLieInside) {
  // As the log has them: a communication is added when it is done, after what was entered before.
  std::vector<TraceEntry> log = {
      entry(1, OpKind::Enter, "stage0.forward", 1000, 0, -1, 3), entry(2, OpKind::Enter, "decoder.fwd", 1500, 0, 0, 3),
      entry(3, OpKind::Enter, "decoder.fwd", 2500, 0, 1, 3),     entry(4, OpKind::AllReduce, "decoder.fwd", 2600, 2900, 1, 3),
      entry(5, OpKind::Enter, "stage0.weight", 4000, 0, -1, 2),  entry(6, OpKind::Enter, "sync_grads.pp1", 6000, 0)};
  nlohmann::json events = parse(trace_events(log, 5, 1, 2, 1000, 9000));
  std::map<std::string, nlohmann::json> slices;
  std::vector<std::string> tracks;
  for (const auto &e : events) {
    EXPECT_EQ(e.at("pid"), 6);
    if (e.at("ph") == "X")
      slices[e.at("name")] = e;
    else
      tracks.push_back(e.at("args").at("name"));
  }
  EXPECT_EQ(tracks, (std::vector<std::string>{"rank 5", "pp1 passes", "pp1 messages"}));
  auto expect = [&](const char *name, double ts, double dur, int tid) {
    ASSERT_TRUE(slices.count(name)) << name;
    EXPECT_EQ(slices[name].at("ts"), ts) << name;
    EXPECT_EQ(slices[name].at("dur"), dur) << name;
    EXPECT_EQ(slices[name].at("tid"), tid) << name;
  };
  expect("F3", 0, 3, 2);
  expect("decoder.fwd 0", 0.5, 1, 2);
  expect("decoder.fwd 1", 1.5, 1.5, 2);
  expect("all_reduce x", 1.6, 0.3, 3);
  expect("W2", 3, 2, 2);
  expect("sync_grads.pp1", 5, 3, 2);
  EXPECT_EQ(slices["F3"].at("args").dump(), R"({"chunk":0,"micro_batch":3,"stage":0})");
}

// A message between stages is named by the pass that it belongs to, and has no second slice among the passes.
TEST(TraceFile, MessagesBetweenStagesHaveTheNamesOfThePlan) {
  std::vector<TraceEntry> log;
  for (auto [function, kind] : {std::pair("stage3.post_forward", OpKind::PostRecv), {"stage3.wait_forward", OpKind::Recv},
                                {"stage1.receive_backward", OpKind::Recv}, {"stage3.send_backward", OpKind::Send},
                                {"sync_grads.pp1", OpKind::Send}}) {
    const int32_t micro_batch = function[1] == 't' ? 2 : -1;
    const auto at = static_cast<uint64_t>(log.size());
    log.push_back(entry(at + 1, OpKind::Enter, function, 1000, 0, -1, micro_batch));
    log.push_back(entry(at + 2, kind, function, 1100, 1200, -1, micro_batch));
  }
  std::set<std::string> passes, messages;
  for (const auto &e : parse(trace_events(log, 1, 1, 2, 1000, 9000)))
    if (e.at("ph") == "X" && e.at("tid") == 2)
      passes.insert(e.at("name"));
    else if (e.at("ph") == "X" && e.at("cat") == "message")
      messages.insert(std::string(e.at("name")) + " of stage " + e.at("args").at("stage").dump() + " chunk " +
                      e.at("args").at("chunk").dump() + " micro-batch " + e.at("args").at("micro_batch").dump());
    else if (e.at("ph") == "X")
      messages.insert(e.at("name"));
  EXPECT_EQ(passes, (std::set<std::string>{"sync_grads.pp1"}));
  EXPECT_EQ(messages, (std::set<std::string>{"post F2 of stage 3 chunk 1 micro-batch 2", "recv F2 of stage 3 chunk 1 micro-batch 2",
                                             "recv B2 of stage 1 chunk 0 micro-batch 2",
                                             "send B2 of stage 3 chunk 1 micro-batch 2", "send x"}));
}

// Where the last stage is two actions, one behind the other, its passes are one slice; the next micro-batch is another.
TEST(TraceFile, AStageAndItsTailAreOnePass) {
  std::vector<TraceEntry> log = {
      entry(1, OpKind::Enter, "stage1.forward", 1000, 0, -1, 3),      entry(2, OpKind::Enter, "decoder.fwd", 1200, 0, 2, 3),
      entry(3, OpKind::Enter, "stage1.tail.forward", 2000, 0, -1, 3), entry(4, OpKind::Enter, "head.fwd", 2100, 0, -1, 3),
      entry(5, OpKind::Enter, "stage1.tail.backward", 3000, 0, -1, 3), entry(6, OpKind::Enter, "stage1.backward", 4000, 0, -1, 3),
      entry(7, OpKind::Enter, "stage1.backward", 6000, 0, -1, 4)};
  std::map<std::string, std::pair<double, double>> slices;
  for (const auto &e : parse(trace_events(log, 1, 1, 2, 1000, 9000)))
    if (e.at("ph") == "X") {
      EXPECT_TRUE(slices.emplace(e.at("name"), std::pair(e.at("ts"), e.at("dur"))).second) << e.at("name");
    }
  EXPECT_EQ(slices, (std::map<std::string, std::pair<double, double>>{{"F3", {0, 2}},
                                                                      {"decoder.fwd 2", {0.2, 0.9}},
                                                                      {"head.fwd", {1.1, 0.9}},
                                                                      {"B3", {2, 3}},
                                                                      {"B4", {5, 3}}}));
}

TEST(TraceFile, ARunWritesEveryRank) {
  Folder folder;
  write_tokens(folder);
  Result result = run(TinyProgram(2, 2, 1), {"--data-path", folder / "tokens.bin", "--train-iters", "2", "--lr", "0.05",
                                             "--trace", folder / "trace.json"});
  ASSERT_EQ(result.code, 0) << result.err;
  nlohmann::json trace = nlohmann::json::parse(std::ifstream(folder / "trace.json"));
  std::set<int> ranks;
  for (const auto &e : trace.at("traceEvents")) {
    ranks.insert(e.at("pid").get<int>() - 1);
    if (e.at("ph") == "X") {
      EXPECT_GE(e.at("ts"), 0);
      EXPECT_GE(e.at("dur"), 0);
    }
  }
  EXPECT_EQ(ranks, (std::set<int>{0, 1, 2, 3}));
}

TEST(TraceFile, AFolderIsRefusedBeforeTraining) {
  Folder folder;
  write_tokens(folder);
  Result result = run(TinyProgram(1, 1, 1), {"--data-path", folder / "tokens.bin", "--train-iters", "1", "--lr", "0.05",
                                             "--trace", folder.path});
  EXPECT_EQ(result.code, 4);
  EXPECT_NE(result.err.find("expected a file, got a directory"), std::string::npos) << result.err;
}

TEST(TraceFile, AnOldFileStaysUntilANewOneIsWhole) {
  Folder folder;
  write_tokens(folder);
  write_file(folder / "old.json", "old");
  std::filesystem::create_symlink("old.json", folder / "link.json");
  const std::vector<std::string> flags = {"--data-path", folder / "tokens.bin", "--train-iters", "2", "--lr",
                                          "0.05",        "--trace",             folder / "link.json"};
  TinyProgram tiny(1, 1, 1);
  std::vector<std::string> bad = flags;
  bad[1] = folder / "bad.bin"; // an id beyond the vocabulary, in a later batch
  std::string ids(2 * 200, '\0');
  ids[2 * 50] = 99;
  write_file(folder / "bad.bin", ids);
  bad[3] = "9";
  bad.push_back("--no-shuffle");
  EXPECT_EQ(run(tiny, bad).code, 4);
  EXPECT_EQ(read_file(folder / "old.json"), "old");
  EXPECT_EQ(run(tiny, flags).code, 0);
  EXPECT_TRUE(nlohmann::json::parse(read_file(folder / "old.json")).contains("traceEvents"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link.json"));
  EXPECT_FALSE(std::filesystem::exists(folder / "old.json.tmp"));
}

} // namespace
