//===- RefusalTest.cpp - Each refused input, with its exit code -----------===//
//
// All of these must stop before the first step: no metrics file may hold a line.
//
//===----------------------------------------------------------------------===//
#include "TinyProgram.h"

#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <functional>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace lf::rt::test;
namespace fs = std::filesystem;

namespace {

void expect_refused(const TinyProgram &tiny, std::vector<std::string> arguments, int code, const std::string &words) {
  Folder folder;
  arguments.insert(arguments.end(), {"--train-iters", "2", "--metrics", folder / "m.jsonl"});
  Result result = run(tiny, arguments);
  EXPECT_EQ(result.code, code) << words;
  EXPECT_NE(result.err.find(words), std::string::npos) << result.err << "  lacks: " << words;
  EXPECT_EQ(read_file(folder / "m.jsonl"), "");
}

TEST(Refusal, Data) {
  Folder folder;
  TinyProgram tiny(1, 2, 1);
  write_file(folder / "odd.bin", std::string(201, '\0'));
  write_file(folder / "short.bin", std::string(2 * (4 * 8), '\0'));
  std::string ids(2 * 100, '\0');
  ids[2 * 21] = 13;
  write_file(folder / "beyond.bin", ids);
  write_file(folder / "empty.bin", "");
  auto data = [&](const std::string &name) {
    return std::vector<std::string>{"--no-shuffle", "--data-path", folder / name};
  };
  expect_refused(tiny, data("none.bin"), 4, "none.bin\": expected a readable file, got: No such file");
  expect_refused(tiny, data("."), 4, "expected a regular file, got a directory");
  expect_refused(tiny, data("odd.bin"), 4, "expected a size that is a multiple of 2 bytes");
  expect_refused(tiny, data("empty.bin"), 4, "got 0");
  expect_refused(tiny, data("short.bin"), 4,
                 "expected at least one batch, 33 tokens (global batch 4 x sequence 8 + 1), got 32");
  expect_refused(tiny, data("beyond.bin"), 4,
                 "byte 42: expected a token id below the vocabulary of 13, got 13 (sample 2, position 5)");
}

TEST(Refusal, IdBeyondTheVocabularyInALaterBatch) {
  Folder folder;
  std::string ids(2 * 200, '\0');
  ids[2 * 50] = 99;
  write_file(folder / "late.bin", ids);
  for (int32_t dp : {1, 2}) {
    Result result = run(TinyProgram(1, dp, 1), {"--no-shuffle", "--data-path", folder / "late.bin", "--train-iters",
                                                "3", "--metrics", folder / "m.jsonl"});
    EXPECT_EQ(result.code, 4);
    EXPECT_NE(result.err.find("byte 100: expected a token id below the vocabulary of 13, got 99"), std::string::npos)
        << result.err;
    EXPECT_EQ(column(folder / "m.jsonl", "step").size(), 1u);
  }
}

TEST(Refusal, DataThatAreCutOffDuringTheRun) {
  Folder folder;
  TinyProgram tiny(1, 2, 1);
  write_file(folder / "t.bin", std::string(2 * 100000, '\0'));
  TinyProgram::sleep_ms = 20;
  std::thread cut([&] {
    for (int i = 0; i < 2000 && read_file(folder / "m.jsonl").empty(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    fs::resize_file(folder / "t.bin", 0);
  });
  Result result = run(tiny, {"--data-path", folder / "t.bin", "--train-iters", "2000", "--metrics", folder / "m.jsonl"});
  cut.join();
  TinyProgram::sleep_ms = 0;
  EXPECT_EQ(result.code, 4);
  EXPECT_NE(result.err.find("t.bin\": expected the 200000 bytes that it had when it was opened, got its end at byte"),
            std::string::npos)
      << result.err;
}

TEST(Refusal, Outputs) {
  Folder folder;
  TinyProgram tiny(1, 1, 1);
  std::string tokens = write_tokens(folder);
  write_file(folder / "file", "");
  for (const char *flag : {"--save", "--save-hf", "--dump-gradients"})
    expect_refused(tiny, {"--data-path", tokens, flag, folder / "file"}, 4, std::string(flag) + ": \"");
  Result metrics = run(tiny, {"--data-path", tokens, "--metrics", folder / "file/m.jsonl"});
  EXPECT_EQ(metrics.code, 4);
  EXPECT_NE(metrics.err.find("--metrics: "), std::string::npos);
  EXPECT_EQ(run(tiny, {"--data-path", tokens, "--metrics", folder.path}).code, 4);
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  metrics = run(tiny, {"--data-path", tokens, "--metrics", folder / "pipe"});
  EXPECT_EQ(metrics.code, 4);
  EXPECT_NE(metrics.err.find("got: a pipe that nobody reads"), std::string::npos) << metrics.err;
  Result trace = run(tiny, {"--data-path", tokens, "--trace", folder / "pipe"});
  EXPECT_EQ(trace.code, 4);
  EXPECT_NE(trace.err.find("--trace: "), std::string::npos) << trace.err;
  EXPECT_NE(trace.err.find("got: a pipe that nobody reads"), std::string::npos) << trace.err;
  const std::string piece = "/" + std::string(300, 'x'), deep = "/" + std::string(5000, '/') + "x";
  for (const char *flag : {"--save", "--save-hf", "--dump-gradients", "--metrics", "--trace"})
    for (const std::string &path : {folder.path + piece, folder.path + piece + "/file", folder.path + deep}) {
      Result result = run(tiny, {"--data-path", tokens, "--train-iters", "2", flag, path});
      EXPECT_EQ(result.code, 4) << flag << " " << result.err;
      EXPECT_NE(result.err.find("error: " + std::string(flag) + ": \""), std::string::npos) << result.err;
    }
  fs::create_directories(folder / "saves");
  fs::create_symlink(tokens, folder / "saves/.lf-lock"); // what it points to is not ours to write
  EXPECT_EQ(run(tiny, {"--data-path", tokens, "--save", folder / "saves"}).code, 4);
}

/// Makes a pipe of one page, and a reader of it that reads nothing by itself.
int read_pipe(const std::string &path) {
  EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
  const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK);
  EXPECT_GE(fcntl(reader, F_SETPIPE_SZ, 4096), 0);
  return reader;
}

int saved_step(const std::string &folder) {
  return std::atoi(read_file(folder + "/latest_checkpointed_iteration.txt").c_str());
}

// A reader that goes ends neither the training nor what it leaves behind.
TEST(Refusal, ATraceThatCannotBeWrittenCostsNoCheckpoint) {
  Folder folder;
  TinyProgram tiny(1, 1, 1);
  std::string tokens = write_tokens(folder);
  const int reader = read_pipe(folder / "pipe");
  std::thread leaves([&] { // once the run has opened the pipe and saved
    for (int i = 0; i < 12000 && !fs::exists(folder / "s/latest_checkpointed_iteration.txt"); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    close(reader);
  });
  Result result = run(tiny, {"--data-path", tokens, "--train-iters", "4000", "--lr", "0.01", "--save", folder / "s",
                             "--save-interval", "1000", "--trace", folder / "pipe"});
  leaves.join();
  EXPECT_EQ(result.code, 4);
  EXPECT_NE(
      result.err.find("--trace: \"" + folder / "pipe" + "\": expected a file that can be written to, got: Broken pipe"),
      std::string::npos)
      << result.err;
  EXPECT_EQ(saved_step(folder / "s"), 4000);
}

void expect_code(int code, const TinyProgram &tiny, std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--train-iters", "2", "--lr", "0.01"});
  Result result = run(tiny, arguments);
  EXPECT_EQ(result.code, code) << result.err;
}

// Files of this run's own folders are written by what they are for alone.
TEST(Refusal, OutputsInThePlaceOfOthers) {
  Folder folder;
  TinyProgram tiny(1, 1, 1);
  const std::string tokens = write_tokens(folder), load = folder / "in", save = folder / "out";
  ASSERT_EQ(run(tiny, {"--data-path", tokens, "--train-iters", "1", "--lr", "0.01", "--save-hf", load}).code, 0);
  fs::create_symlink(load + "/model.safetensors", folder / "link");
  fs::create_hard_link(load + "/model.safetensors", folder / "hard");
  const std::string weights = read_file(load + "/model.safetensors");
  write_file(folder / "t.tmp", read_file(tokens)); // what a file "t" would be written as first
  expect_code(4, tiny, {"--data-path", folder / "t.tmp", "--trace", folder / "t"});
  EXPECT_EQ(read_file(folder / "t.tmp"), read_file(tokens));
  ASSERT_EQ(run(tiny, {"--data-path", tokens, "--train-iters", "1", "--lr", "0.01", "--save", folder / "ck"}).code, 0);
  fs::create_hard_link(folder / "ck/iter_0000001/rank_00000.lfckpt", folder / "rank");
  expect_code(4, tiny, {"--data-path", tokens, "--save", folder / "ck", "--metrics", folder / "rank"});
  expect_code(4, tiny, {"--data-path", tokens, "--save", folder / "ck", "--dump-gradients", folder / "ck/iter_0000002"});
  expect_code(4, tiny, {"--data-path", tokens, "--save", folder / "ck", "--save-hf", folder / "ck/iter_0000001"});
  for (const std::string &path :
       {load + "/model.safetensors", load + "/new.safetensors", folder / "link", folder / "hard", load + "/config.json",
        save + "/latest_checkpointed_iteration.txt", save + "/iter_0000001/rank_00000.lfckpt", save + "/.lf-lock"})
    for (const char *flag : {"--metrics", "--trace"}) {
      Result result =
          run(tiny, {"--data-path", tokens, "--train-iters", "1", "--load", load, "--save", save, flag, path});
      EXPECT_EQ(result.code, 4) << flag << " " << path;
      EXPECT_NE(result.err.find(std::string(flag) + ": \"" + path + "\": expected a file of its own, got "),
                std::string::npos)
          << result.err;
    }
  fs::create_symlink(save + "/latest_checkpointed_iteration.txt", folder / "to-come");
  for (const std::string &path : {folder / "to-come", save + "/latest_checkpointed_iteration.txt.tmp",
                                  save + "/.iter_0000003.tmp/plan.json", load + "/model.safetensors.tmp"})
    EXPECT_EQ(
        run(tiny, {"--data-path", tokens, "--train-iters", "1", "--load", load, "--save", save, "--metrics", path})
            .code,
        4)
        << path;
  EXPECT_EQ(read_file(load + "/model.safetensors"), weights);
  EXPECT_EQ(run(tiny, {"--data-path", tokens, "--train-iters", "1", "--load", load, "--save", save, "--metrics",
                       save + "/iter_times.jsonl"})
                .code,
            0); // beside them is a place as any
  EXPECT_EQ(run(tiny, {"--data-path", tokens, "--metrics", folder / "x.tmp", "--trace", folder / "x"}).code, 2);
  EXPECT_EQ(run(tiny, {"--data-path", tokens, "--metrics", folder / "x", "--trace", folder / "x.tmp"}).code, 2);
  write_file(folder / "m", "");
  fs::create_hard_link(folder / "m", folder / "same");
  EXPECT_EQ(run(tiny, {"--data-path", tokens, "--metrics", folder / "m", "--trace", folder / "same"}).code, 2);
}

// A reader of the metrics that goes ends the run, whose steps are saved.
TEST(Refusal, MetricsThatCannotBeWrittenCostNoSteps) {
  Folder folder;
  TinyProgram tiny(1, 1, 1);
  std::string tokens = write_tokens(folder);
  const int reader = read_pipe(folder / "pipe");
  std::thread leaves([&] { // once it has read something
    char byte;
    for (int i = 0; i < 60000 && read(reader, &byte, 1) <= 0; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    close(reader);
  });
  Result result = run(tiny, {"--data-path", tokens, "--train-iters", "1000000", "--lr", "0.01", "--save", folder / "s",
                             "--metrics", folder / "pipe"});
  leaves.join();
  EXPECT_EQ(result.code, 4);
  EXPECT_NE(result.err.find("--metrics: \"" + folder / "pipe" + "\": expected to write step "), std::string::npos)
      << result.err;
  EXPECT_NE(result.err.find("got: Broken pipe"), std::string::npos) << result.err;
  EXPECT_GE(saved_step(folder / "s"), 2);
}

// Nor one that stands still: the ranks that wait meanwhile do not time out.
TEST(Refusal, MetricsThatNobodyTakesCostNoSteps) {
  Folder folder;
  TinyProgram tiny(1, 2, 1);
  const std::string tokens = write_tokens(folder);
  const int reader = read_pipe(folder / "pipe");
  setenv("LF_TIMEOUT_SECONDS", "3", 1);
  Result result = run(tiny, {"--data-path", tokens, "--train-iters", "1000000", "--lr", "0.01", "--save", folder / "s",
                             "--metrics", folder / "pipe"});
  unsetenv("LF_TIMEOUT_SECONDS");
  close(reader);
  EXPECT_EQ(result.code, 4);
  EXPECT_NE(result.err.find("got: a reader that takes nothing"), std::string::npos) << result.err;
  EXPECT_GE(saved_step(folder / "s"), 2);
}

// Where no step can be saved, the run goes on to what it was for.
TEST(Refusal, MetricsThatCannotBeWrittenCostNoWeights) {
  Folder folder;
  Result result = run(TinyProgram(1, 1, 1), {"--data-path", write_tokens(folder), "--train-iters", "5", "--lr", "0.01",
                                             "--save-hf", folder / "hf", "--metrics", "/dev/full"});
  EXPECT_EQ(result.code, 4);
  EXPECT_NE(result.err.find("--metrics: \"/dev/full\": expected to write step 1, got: No space left on device"),
            std::string::npos)
      << result.err;
  EXPECT_NE(result.out.find("done: 5 steps"), std::string::npos) << result.out;
  EXPECT_TRUE(fs::exists(folder / "hf/model.safetensors"));
}

// One that takes nothing keeps no signal from ending the run.
TEST(Refusal, MetricsThatNobodyReadsDoNotHoldASignal) {
  Folder folder;
  TinyProgram tiny(1, 1, 1);
  std::string tokens = write_tokens(folder);
  const int reader = read_pipe(folder / "pipe");
  const pid_t child = fork();
  if (child == 0) {
    Result result = run(tiny, {"--data-path", tokens, "--train-iters", "1000000", "--lr", "0.01", "--save",
                               folder / "s", "--metrics", folder / "pipe"});
    _exit(result.code);
  }
  int bytes = 0;
  for (int i = 0; i < 60000 && bytes < 3500; ++i) { // until the pipe is full
    ioctl(reader, FIONREAD, &bytes);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  kill(child, SIGTERM);
  int status = 0;
  waitpid(child, &status, 0);
  close(reader);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 75);
  EXPECT_GE(saved_step(folder / "s"), 2);
}

/// A Hugging Face folder made by a run of the program itself, changed by `edit` of its header and data.
void write_edited(const Folder &folder, const std::string &name,
                  const std::function<void(nlohmann::ordered_json &, std::string &)> &edit) {
  std::string bytes = read_file(folder / "good/model.safetensors");
  uint64_t length;
  __builtin_memcpy(&length, bytes.data(), 8);
  auto header = nlohmann::ordered_json::parse(bytes.substr(8, length));
  std::string data = bytes.substr(8 + length);
  edit(header, data);
  std::string text = header.dump();
  length = text.size();
  fs::create_directory(folder / name);
  write_file(folder / (name + "/model.safetensors"),
             std::string(reinterpret_cast<const char *>(&length), 8) + text + data);
}

/// Appends a tensor to a file under edit.
void add(nlohmann::ordered_json &header, std::string &data, const std::string &name, const std::string &dtype,
         std::vector<int64_t> shape, const std::string &bytes) {
  header[name] = {{"dtype", dtype}, {"shape", shape}, {"data_offsets", {data.size(), data.size() + bytes.size()}}};
  data += bytes;
}

TEST(Refusal, Weights) {
  using Json = nlohmann::ordered_json;
  Folder folder;
  TinyProgram tiny(1, 2, 1);
  std::string tokens = write_tokens(folder), embed = "model.embed_tokens.weight", norm = "model.layers.1.norm.weight";
  ASSERT_EQ(run(tiny, {"--data-path", tokens, "--train-iters", "1", "--save-hf", folder / "good"}).code, 0);
  auto load = [&](const std::string &name) {
    return std::vector<std::string>{"--data-path", tokens, "--load", folder / name};
  };
  auto rename = [](Json &h, const std::string &from, const std::string &to) {
    h[to] = h[from];
    h.erase(from);
  };

  expect_refused(tiny, load("nothing"), 4, "expected a folder with \"model.safetensors\"");
  write_edited(folder, "missing", [&](Json &h, std::string &) { rename(h, norm, "model.layers.7.norm.weight"); });
  expect_refused(tiny, load("missing"), 4, "missing: \"" + norm + "\"");
  write_edited(folder, "extra", [&](Json &h, std::string &d) { add(h, d, "extra.weight", "U8", {1}, "x"); });
  expect_refused(tiny, load("extra"), 4, "got also \"extra.weight\"");
  write_edited(folder, "shape", [&](Json &h, std::string &) { h[embed]["shape"] = {4, 13}; });
  expect_refused(tiny, load("shape"), 4, "tensor \"" + embed + "\": expected shape [13, 4], got [4, 13]");
  write_edited(folder, "dtype", [&](Json &h, std::string &) { h[norm]["dtype"] = "I64"; });
  expect_refused(tiny, load("dtype"), 4, "tensor \"" + norm + "\": expected dtype F32, F16, BF16 or F64, got I64");
  write_edited(folder, "twice", [&](Json &h, std::string &d) { add(h, d, "layers.1.norm.weight", "U8", {1}, "x"); });
  expect_refused(tiny, load("twice"), 4, "expected each tensor once");
  write_edited(folder, "head", [&](Json &h, std::string &d) {
    add(h, d, "lm_head.weight", "F64", {13, 4}, std::string(13 * 4 * 8, '\1'));
  });
  expect_refused(tiny, load("head"), 4, "tensor \"lm_head.weight\": expected a copy of the embedding");
  write_edited(folder, "cut", [&](Json &, std::string &d) { d.pop_back(); });
  expect_refused(tiny, load("cut"), 4, "model.safetensors\", tensor \"");
}

TEST(Refusal, WeightsThatAreEquivalentAreAccepted) {
  using Json = nlohmann::ordered_json;
  Folder folder;
  TinyProgram tiny(1, 2, 1);
  std::string tokens = write_tokens(folder);
  ASSERT_EQ(run(tiny, {"--data-path", tokens, "--train-iters", "1", "--save-hf", folder / "good"}).code, 0);
  write_edited(folder, "bare", [&](Json &h, std::string &d) {
    Json renamed;
    for (auto &[name, entry] : h.items())
      renamed[name.rfind("model.", 0) == 0 ? name.substr(6) : name] = entry;
    h = renamed;
    std::string table = d.substr(h["embed_tokens.weight"]["data_offsets"][0].get<size_t>(), 13 * 4 * 8);
    add(h, d, "lm_head.weight", "F64", {13, 4}, table);
    add(h, d, "layers.0.attn.bias", "BOOL", {1, 1, 2, 2}, std::string(4, '\1'));
    add(h, d, "layers.0.attn.masked_bias", "F32", {}, std::string(4, '\1'));
    add(h, d, "layers.0.self_attn.rotary_emb.inv_freq", "F32", {1}, std::string(4, '\1'));
  });
  Result result = run(tiny, {"--data-path", tokens, "--train-iters", "1", "--lr", "0", "--load", folder / "bare",
                             "--save-hf", folder / "again"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(read_file(folder / "again/model.safetensors"), read_file(folder / "good/model.safetensors"));
}

TEST(Refusal, OneFileForMetricsAndTrace) {
  Folder folder;
  std::string tokens = write_tokens(folder);
  fs::create_directories(folder / "d");
  for (auto [metrics, trace] : {std::pair(folder / "m", folder / "d/../m"), std::pair<std::string, std::string>("m.new", "./m.new")}) {
    Result result = run(TinyProgram(1, 2, 1), {"--data-path", tokens, "--train-iters", "2", "--metrics", metrics, "--trace", trace});
    EXPECT_EQ(result.code, 2) << trace;
    EXPECT_NE(result.err.find("expected a file of its own, got the file of --metrics"), std::string::npos) << result.err;
    EXPECT_FALSE(fs::exists(metrics));
  }
}

TEST(Refusal, WordsForTheCheckOfReplicas) {
  Folder folder;
  setenv("LF_CHECK_REPLICAS", "true", 1);
  expect_refused(TinyProgram(1, 2, 1), {"--data-path", write_tokens(folder)}, 2,
                 "expected the environment variable LF_CHECK_REPLICAS to be 0 or 1, got \"true\"");
  unsetenv("LF_CHECK_REPLICAS");
}

TEST(Refusal, ProgramOfATypeThatTheCpuLacks) {
  Folder folder;
  TinyProgram tiny(1, 1, 1, LF_BF16);
  expect_refused(tiny, {"--data-path", write_tokens(folder)}, 2, "compile with --fp32 or --fp64");
}

TEST(Describe, TouchesNoData) {
  Result result = run(TinyProgram(2, 2, 1), {"--describe", "--data-path", "none"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out, "tiny: the report of the plan\n");
  EXPECT_EQ(run(TinyProgram(2, 2, 1), {"--help"}).code, 0);
}

} // namespace
