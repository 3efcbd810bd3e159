//===- CheckpointTest.cpp - Resume, signals, and a kill at any time -------===//
//
// A run that is interrupted and resumed must end with the same bits as one that was not.
//
//===----------------------------------------------------------------------===//
#include "TinyProgram.h"

#include "data/permutation.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <functional>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace lf::rt::test;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> flags(const Folder &folder, std::vector<std::string> more) {
  std::vector<std::string> all = {"--data-path", folder / "tokens.bin", "--lr", "0.05",          "--lr-decay-style",
                                  "cosine",      "--lr-decay-iters",    "8",    "--train-iters", "8"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

/// Runs lf_main in a child process with its own signals; returns its id.
pid_t start(const TinyProgram &program, const std::vector<std::string> &arguments) {
  pid_t child = fork();
  if (child == 0) {
    Result result = run(program, arguments);
    std::fputs(result.err.c_str(), stderr);
    _exit(result.code);
  }
  return child;
}

int wait_for(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

template <class Condition> bool soon(Condition condition) {
  for (int i = 0; i < 2000 && !condition(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return condition();
}

TEST(Checkpoint, ResumeIsBitExact) {
  constexpr int32_t meshes[][3] = {{1, 1, 1}, {2, 2, 1}, {1, 2, 2}};
  for (auto [pp, dp, tp] : meshes) {
    Folder folder;
    write_tokens(folder);
    TinyProgram tiny(pp, dp, tp, LF_F32, true);
    ASSERT_EQ(run(tiny, flags(folder, {"--seed", "9", "--save-hf", folder / "whole"})).code, 0);
    ASSERT_EQ(run(tiny, flags(folder, {"--seed", "9", "--train-iters", "3", "--save", folder / "s", "--metrics",
                                       folder / "m.jsonl"}))
                  .code,
              0);
    EXPECT_TRUE(fs::exists(folder / "s/iter_0000003/plan.json"));
    EXPECT_EQ(read_file(folder / "s/latest_checkpointed_iteration.txt"), "3\n");
    Result rest = run(tiny, flags(folder, {"--load", folder / "s", "--save", folder / "s", "--save-interval", "2",
                                           "--save-hf", folder / "resumed", "--metrics", folder / "m.jsonl"}));
    ASSERT_EQ(rest.code, 0) << rest.err;
    EXPECT_EQ(read_file(folder / "resumed/model.safetensors"), read_file(folder / "whole/model.safetensors"));
    EXPECT_EQ(column(folder / "m.jsonl", "step"), (std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8}));
    for (const char *name : {"s/iter_0000004", "s/iter_0000006", "s/iter_0000008"})
      EXPECT_TRUE(fs::exists(folder / name)) << name;
    EXPECT_EQ(read_file(folder / "s/latest_checkpointed_iteration.txt"), "8\n");
  }
}

TEST(Checkpoint, MetricsOfARepeatedStepAppearOnce) {
  Folder folder;
  write_tokens(folder);
  TinyProgram tiny(1, 1, 1);
  ASSERT_EQ(run(tiny, flags(folder, {"--train-iters", "2", "--save", folder / "s"})).code, 0);
  write_file(folder / "m.jsonl", "{\"step\": 1}\n{\"step\": 2}\n{\"step\": 3}\n{\"step\": 4, \"lo");
  ASSERT_EQ(
      run(tiny, flags(folder, {"--train-iters", "4", "--load", folder / "s", "--metrics", folder / "m.jsonl"})).code,
      0);
  EXPECT_EQ(column(folder / "m.jsonl", "step"), (std::vector<double>{1, 2, 3, 4}));
}

TEST(Checkpoint, ARunThatIsOverOnlyExports) {
  Folder folder;
  write_tokens(folder);
  TinyProgram tiny(1, 2, 1);
  ASSERT_EQ(run(tiny, flags(folder, {"--save", folder / "s", "--save-hf", folder / "a"})).code, 0);
  Result again = run(tiny, flags(folder, {"--load", folder / "s", "--save-hf", folder / "b"}));
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_NE(again.out.find("nothing to train"), std::string::npos);
  EXPECT_EQ(read_file(folder / "a/model.safetensors"), read_file(folder / "b/model.safetensors"));
  const std::string lines = "{\"step\": 8}\n{\"step\": 9}\n"; // of a run that went on: not this run's to drop
  write_file(folder / "m.jsonl", lines);
  ASSERT_EQ(run(tiny, flags(folder, {"--load", folder / "s", "--metrics", folder / "m.jsonl"})).code, 0);
  EXPECT_EQ(read_file(folder / "m.jsonl"), lines);
}

TEST(Checkpoint, WhatAKilledRunLeftGoes) {
  Folder folder;
  write_tokens(folder);
  fs::create_directories(folder / "s/.iter_0000003.tmp");
  fs::create_directories(folder / "s/iter_mine");
  write_file(folder / "s/.iter_0000003.tmp/rank_00000.lfckpt", "a part");
  ASSERT_EQ(run(TinyProgram(1, 1, 1), flags(folder, {"--save", folder / "s"})).code, 0);
  EXPECT_FALSE(fs::exists(folder / "s/.iter_0000003.tmp"));
  EXPECT_TRUE(fs::exists(folder / "s/iter_mine"));
}

TEST(Checkpoint, SavingOverAnOldStepReplacesIt) {
  Folder folder;
  write_tokens(folder);
  TinyProgram tiny(1, 1, 1);
  ASSERT_EQ(run(tiny, flags(folder, {"--seed", "1", "--save", folder / "s"})).code, 0);
  std::string first = read_file(folder / "s/iter_0000008/rank_00000.lfckpt");
  ASSERT_EQ(run(tiny, flags(folder, {"--seed", "2", "--save", folder / "s"})).code, 0);
  EXPECT_NE(read_file(folder / "s/iter_0000008/rank_00000.lfckpt"), first);
  int entries = 0;
  for (auto &entry : fs::directory_iterator(folder / "s"))
    entries += !entry.path().empty();
  EXPECT_EQ(entries, 3) << "one step, the file that names it, and the lock";
}

// The second is refused before it writes anything; a killed run leaves the folder free.
TEST(Checkpoint, OnlyOneRunAtATimeSavesToAFolder) {
  Folder folder;
  write_tokens(folder);
  TinyProgram tiny(1, 2, 1);
  TinyProgram::sleep_ms = 20;
  pid_t child = start(tiny, flags(folder, {"--train-iters", "500", "--save", folder / "s", "--save-interval", "1", "--metrics",
                                           folder / "m.jsonl"}));
  TinyProgram::sleep_ms = 0;
  auto lines = [&] { // the child may be writing one
    std::string text = read_file(folder / "m.jsonl");
    return std::count(text.begin(), text.end(), '\n');
  };
  ASSERT_TRUE(soon([&] { return lines() > 1; }));
  Result second = run(tiny, flags(folder, {"--save", folder / "s", "--metrics", folder / "other.jsonl"}));
  EXPECT_EQ(second.code, 4);
  EXPECT_NE(second.err.find("--save: \"" + folder / "s" + "\": expected a folder that no other run saves to, got that of process " +
                            std::to_string(child) + " on \""),
            std::string::npos)
      << second.err;
  EXPECT_EQ(read_file(folder / "other.jsonl"), "");
  second = run(tiny, flags(folder, {"--metrics", folder / "m.jsonl"}));
  EXPECT_EQ(second.code, 4);
  EXPECT_NE(second.err.find("m.jsonl\": expected a file that no other run writes"), std::string::npos) << second.err;
  EXPECT_GT(lines(), 1) << "still the first run's";
  kill(child, SIGKILL);
  wait_for(child);
  Result third = run(tiny, flags(folder, {"--save", folder / "s", "--metrics", folder / "m.jsonl"}));
  EXPECT_EQ(third.code, 0) << third.err;
  EXPECT_EQ(column(folder / "m.jsonl", "step").size(), 8u);
}

TEST(Checkpoint, SignalSavesAndStopsAndTheRestIsBitExact) {
  for (int signal : {SIGTERM, SIGUSR1}) {
    Folder folder;
    write_tokens(folder);
    TinyProgram tiny(1, 2, 1);
    ASSERT_EQ(run(tiny, flags(folder, {"--train-iters", "60", "--save-hf", folder / "whole"})).code, 0);
    TinyProgram::sleep_ms = 20;
    pid_t child =
        start(tiny, flags(folder, {"--train-iters", "60", "--save", folder / "s", "--metrics", folder / "m.jsonl"}));
    TinyProgram::sleep_ms = 0;
    ASSERT_TRUE(soon([&] { return fs::exists(folder / "m.jsonl") && fs::file_size(folder / "m.jsonl") > 0; }));
    kill(child, signal);
    EXPECT_EQ(wait_for(child), 75);
    int64_t step = std::stoll(read_file(folder / "s/latest_checkpointed_iteration.txt"));
    EXPECT_GT(step, 0);
    EXPECT_LT(step, 60);
    ASSERT_EQ(
        run(tiny, flags(folder, {"--train-iters", "60", "--load", folder / "s", "--save-hf", folder / "rest"})).code,
        0);
    EXPECT_EQ(read_file(folder / "rest/model.safetensors"), read_file(folder / "whole/model.safetensors"));
  }
}

TEST(Checkpoint, KillDuringSavesLosesNothing) {
  Folder folder;
  write_tokens(folder);
  TinyProgram tiny(1, 2, 1);
  ASSERT_EQ(run(tiny, flags(folder, {"--train-iters", "400", "--save-hf", folder / "whole"})).code, 0);
  std::vector<std::string> saving =
      flags(folder, {"--train-iters", "400", "--save", folder / "s", "--save-interval", "1"});
  int64_t reached = 0;
  for (int round = 0; round < 6; ++round) {
    std::vector<std::string> arguments = saving;
    if (reached)
      arguments.insert(arguments.end(), {"--load", folder / "s"});
    pid_t child = start(tiny, arguments);
    auto latest = [&] {
      std::string text = read_file(folder / "s/latest_checkpointed_iteration.txt");
      return text.empty() ? 0 : std::stoll(text);
    };
    ASSERT_TRUE(soon([&] { return latest() > reached + round; }));
    kill(child, SIGKILL);
    EXPECT_EQ(wait_for(child), 128 + SIGKILL);
    EXPECT_GE(latest(), reached);
    reached = latest();
  }
  Result rest =
      run(tiny, flags(folder, {"--train-iters", "400", "--load", folder / "s", "--save-hf", folder / "rest"}));
  ASSERT_EQ(rest.code, 0) << rest.err;
  EXPECT_EQ(read_file(folder / "rest/model.safetensors"), read_file(folder / "whole/model.safetensors"));
}

// The places of the parameters decide, not how the plan is spelled, nor what only follows from it.
TEST(Checkpoint, AnotherPlanWithTheSamePlacesGoesOn) {
  Folder folder;
  write_tokens(folder);
  TinyProgram tiny(2, 1, 1), other(2, 1, 1);
  const std::string sizes = R"("sizes":{"pp":2},)";
  const std::string plan =
      "{" + sizes + R"("layout":"Ett|L","schedule":"1f1b","memory":[{"peak":1}],"flops_per_token":7.0})";
  const std::string again =
      "{" + sizes + R"("layout":"Et*2|L","schedule":"zb-h1","memory":[{"peak":2}],"flops_per_token":8.0})";
  tiny.program.plan = plan.c_str();
  other.program.plan = again.c_str();
  ASSERT_EQ(run(tiny, flags(folder, {"--save-hf", folder / "whole"})).code, 0);
  ASSERT_EQ(run(tiny, flags(folder, {"--train-iters", "3", "--save", folder / "s"})).code, 0);
  Result rest = run(other, flags(folder, {"--load", folder / "s", "--save-hf", folder / "rest"}));
  ASSERT_EQ(rest.code, 0) << rest.err;
  EXPECT_EQ(read_file(folder / "rest/model.safetensors"), read_file(folder / "whole/model.safetensors"));
}

// What a user decided is named, not a number that follows from it.
TEST(Checkpoint, WhatDoesNotFitIsNamed) {
  Folder folder;
  write_tokens(folder);
  TinyProgram tiny(2, 1, 1);
  auto stages = [](const char *first, const char *second) {
    return std::string(R"("stages":[{"items":")") + first + R"("},{"items":")" + second + R"("}],)";
  };
  const std::string start = R"({"version":1,"memory":[1],"model":{"family":"tiny"},"sizes":{"pp":2,"vpp":1},)";
  const std::string plan = start + stages("Ett", "L") + R"("layout":"Ett|L","schedule":"1f1b","options":{}})";
  tiny.program.plan = plan.c_str();
  ASSERT_EQ(run(tiny, flags(folder, {"--train-iters", "3", "--save", folder / "s"})).code, 0);
  auto refused = [&](TinyProgram &program, const std::string &text) {
    program.program.plan = text.c_str();
    Result result = run(program, flags(folder, {"--load", folder / "s"}));
    EXPECT_EQ(result.code, 4);
    size_t at = result.err.find("another: ");
    return at == std::string::npos ? result.err : result.err.substr(at + 9, result.err.find(';', at) - at - 9);
  };
  TinyProgram tied(2, 1, 1, LF_F64, true), shorter(2, 1, 1), smaller(2, 1, 1), wide(2, 1, 2);
  EXPECT_EQ(refused(tied, start + stages("Et", "tL") + R"("layout":"Et|tL","schedule":"gpipe","options":{}})"),
            "\"/layout\" of plan.json is \"Et|tL\" here and \"Ett|L\" there");
  EXPECT_EQ(refused(tied, start + stages("Ett", "L") + R"("layout":"Ett|L","schedule":"zb-v","options":{}})"),
            "\"/schedule\" of plan.json is \"zb-v\" here and \"1f1b\" there");
  EXPECT_EQ(refused(tied, start + stages("Ett", "mL") +
                              R"("layout":"Ett|mL","schedule":"1f1b","options":{"mtp-num-layers":"1"}})"),
            "\"--mtp-num-layers\" is \"1\" here and the default there");
  EXPECT_EQ(refused(tied, plan), "the place of tensor \"embed\" differs") << "a second copy on rank 1";
  EXPECT_EQ(refused(wide, plan), "the place of tensor \"embed\" differs");
  EXPECT_EQ(refused(tiny, R"({"model":{"family":"small"},"sizes":{"pp":2}})"),
            "\"/model/family\" of plan.json is \"small\" here and \"tiny\" there");
  shorter.program.seq_length = 4;
  EXPECT_EQ(refused(shorter, plan), "\"--seq-length\" is 4 here and 8 there");
  smaller.program.micro_batches = 2;
  EXPECT_EQ(refused(smaller, plan), "\"--global-batch-size\" is 2 here and 4 there");
}

struct Damage {
  const char *what;
  void (*apply)(const std::string &folder);
  const char *words;
};

/// Changes the text of a rank file's header.
void edit_header(const std::string &path, const std::function<void(std::string &)> &edit) {
  std::string bytes = read_file(path);
  uint64_t length;
  __builtin_memcpy(&length, bytes.data() + 8, 8);
  std::string text = bytes.substr(16, length), rest = bytes.substr(16 + length);
  edit(text);
  length = text.size();
  write_file(path, bytes.substr(0, 8) + std::string(reinterpret_cast<const char *>(&length), 8) + text + rest);
}

// Files of the first version have a sum of the arenas alone.
TEST(Checkpoint, TheFirstVersionIsRead) {
  Folder folder;
  write_tokens(folder);
  TinyProgram tiny(1, 1, 1);
  ASSERT_EQ(run(tiny, flags(folder, {"--train-iters", "4", "--save", folder / "s", "--save-hf", folder / "a"})).code,
            0);
  const std::string path = folder / "s/iter_0000004/rank_00000.lfckpt";
  std::string bytes = read_file(path);
  uint64_t length, state = 0x6c66636b70743031u;
  __builtin_memcpy(&length, bytes.data() + 8, 8);
  bytes.resize(bytes.size() - 16);
  for (size_t at = 16 + length; at < bytes.size(); at += 8) { // as that version summed
    uint64_t word = 0;
    __builtin_memcpy(&word, bytes.data() + at, std::min<size_t>(8, bytes.size() - at));
    state = (state ^ word) * 0x9e3779b97f4a7c15u;
    state ^= state >> 29;
  }
  const uint64_t sum = lf::rt::mix(state);
  bytes.replace(0, 8, "lfckpt01");
  write_file(path, bytes + std::string(reinterpret_cast<const char *>(&sum), 8));
  Result result = run(tiny, flags(folder, {"--train-iters", "4", "--load", folder / "s", "--save-hf", folder / "b"}));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(read_file(folder / "a/model.safetensors"), read_file(folder / "b/model.safetensors"));
  bytes[bytes.size() - 5] ^= 1;
  write_file(path, bytes + std::string(reinterpret_cast<const char *>(&sum), 8));
  EXPECT_EQ(run(tiny, flags(folder, {"--train-iters", "4", "--load", folder / "s"})).code, 4);
}

TEST(Checkpoint, DamageIsRefusedAndNamed) {
  Folder folder;
  write_tokens(folder);
  TinyProgram tiny(1, 2, 1);
  ASSERT_EQ(run(tiny, flags(folder, {"--save", folder / "good", "--save-interval", "4"})).code, 0);
  ASSERT_EQ(run(tiny, flags(folder, {"--lr", "0.02", "--save", folder / "other"})).code,
            0); // of the same step and seed
  const Damage table[] = {
      {"cut in the data",
       [](const std::string &f) {
         fs::resize_file(f + "/iter_0000008/rank_00001.lfckpt",
                         fs::file_size(f + "/iter_0000008/rank_00001.lfckpt") - 1);
       },
       "rank_00001.lfckpt\", byte "},
      {"cut in the header", [](const std::string &f) { fs::resize_file(f + "/iter_0000008/rank_00001.lfckpt", 40); },
       "cut off"},
      {"empty", [](const std::string &f) { fs::resize_file(f + "/iter_0000008/rank_00000.lfckpt", 0); },
       "a file of 0 bytes"},
      {"longer",
       [](const std::string &f) {
         fs::resize_file(f + "/iter_0000008/rank_00000.lfckpt",
                         fs::file_size(f + "/iter_0000008/rank_00000.lfckpt") + 8);
       },
       "expected a file of"},
      {"a flipped bit",
       [](const std::string &f) {
         std::string bytes = read_file(f + "/iter_0000008/rank_00000.lfckpt");
         bytes[bytes.size() - 100] ^= 1;
         write_file(f + "/iter_0000008/rank_00000.lfckpt", bytes);
       },
       "expected the check sum"},
      {"samples of another step",
       [](const std::string &f) {
         const std::string path = f + "/iter_0000008/rank_00000.lfckpt";
         std::string bytes = read_file(path), name = "\"consumed\":";
         size_t digit = bytes.find(name) + name.size();
         bytes[digit] = bytes[digit] == '9' ? '8' : static_cast<char>(bytes[digit] + 1);
         write_file(path, bytes);
       },
       "\"consumed\" to be its steps times "},
      {"another seed",
       [](const std::string &f) {
         for (const char *rank : {"/iter_0000008/rank_00000.lfckpt", "/iter_0000008/rank_00001.lfckpt"}) {
           std::string bytes = read_file(f + rank), name = "\"seed\":";
           bytes[bytes.find(name) + name.size()] = '7';
           write_file(f + rank, bytes);
         }
       },
       "expected the check sum"},
      {"a rank of another run",
       [](const std::string &f) {
         fs::copy_file(f + "/../other/iter_0000008/rank_00001.lfckpt", f + "/iter_0000008/rank_00001.lfckpt",
                       fs::copy_options::overwrite_existing);
       },
       "expected the files of all ranks to be of one run"},
      {"a plan without end",
       [](const std::string &f) {
         edit_header(f + "/iter_0000008/rank_00000.lfckpt", [](std::string &text) {
           text.insert(1, "\"deep\":" + std::string(200000, '[') + std::string(200000, ']') + ",");
         });
       },
       "expected JSON nested at most 64 deep as header, got more"},
      {"a header that is none",
       [](const std::string &f) {
         edit_header(f + "/iter_0000008/rank_00000.lfckpt", [](std::string &text) { text[0] = 'x'; });
       },
       "byte 16: expected JSON as header, got \"x"},
      {"a name that is no pointer",
       [](const std::string &f) {
         edit_header(f + "/iter_0000008/rank_00000.lfckpt", [](std::string &text) {
           text.replace(text.find("\"places\""), 8, "\"nothing\"");
           text.replace(text.find("\"plan\""), 6, "\"plan\":{\"sizes\":{\"a~b/c\":1}},\"old\"");
         });
       },
       "\"/sizes/a~0b~1c\" of plan.json is the default here and 1 there"},
      {"another file's mark",
       [](const std::string &f) { write_file(f + "/iter_0000008/rank_00000.lfckpt", std::string(64, 'x')); },
       "expected the mark"},
      {"a missing rank", [](const std::string &f) { fs::remove(f + "/iter_0000008/rank_00001.lfckpt"); },
       "rank_00001.lfckpt"},
      {"ranks exchanged",
       [](const std::string &f) {
         fs::copy_file(f + "/iter_0000008/rank_00000.lfckpt", f + "/iter_0000008/rank_00001.lfckpt",
                       fs::copy_options::overwrite_existing);
       },
       "expected the file of rank 1"},
      {"a rank of an older step",
       [](const std::string &f) {
         fs::copy_file(f + "/iter_0000004/rank_00001.lfckpt", f + "/iter_0000008/rank_00001.lfckpt",
                       fs::copy_options::overwrite_existing);
       },
       "expected step 8"},
      {"the step is gone", [](const std::string &f) { fs::remove_all(f + "/iter_0000008"); }, "iter_0000008"},
      {"no number", [](const std::string &f) { write_file(f + "/latest_checkpointed_iteration.txt", "new\n"); },
       "expected the number of a step, got \"new\""},
      {"a number and more",
       [](const std::string &f) {
         write_file(f + "/latest_checkpointed_iteration.txt", std::string("8\nlf: \x1b[2J\0hidden", 17));
       },
       "expected the number of a step, got \"8\\x0alf: \\x1b[2J\\x00hidden\""},
  };
  for (const Damage &damage : table) {
    fs::remove_all(folder / "bad");
    fs::copy(folder / "good", folder / "bad", fs::copy_options::recursive);
    damage.apply(folder / "bad");
    Result result = run(tiny, flags(folder, {"--load", folder / "bad", "--train-iters", "9"}));
    EXPECT_EQ(result.code, 4) << damage.what;
    EXPECT_NE(result.err.find(damage.words), std::string::npos) << damage.what << ": " << result.err;
  }
  Result other = run(TinyProgram(1, 1, 2), flags(folder, {"--load", folder / "good"}));
  EXPECT_EQ(other.code, 4);
  EXPECT_NE(other.err.find("expected a checkpoint of this program's plan, got one of another: \"/sizes/"),
            std::string::npos)
      << other.err;
  Result seed = run(tiny, flags(folder, {"--load", folder / "good", "--seed", "77"}));
  EXPECT_EQ(seed.code, 2);
}

} // namespace
