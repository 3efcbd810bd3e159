//===- OptionsTest.cpp - The command line: spellings and refusals ---------===//
//
// Every refusal is checked by its words, since they are what the user gets.
//
//===----------------------------------------------------------------------===//
#include "train/options.h"
#include "lf/flag_names.h"
#include "lf/foreign_flags.h"
#include "rank.h"

#include <gtest/gtest.h>

#include <set>

using namespace lf::rt;

namespace {

std::string refusal(const std::vector<std::string> &words) {
  try {
    parse_options(words);
  } catch (const Failure &failure) {
    EXPECT_EQ(failure.code, 2);
    return failure.message;
  }
  return "accepted";
}

TEST(Options, SpellingsAreOne) {
  Options o = parse_options({"--data_path", "a", "b", "--lr=0.5", "--min_lr", "1e-3", "--train-iters=7", "--no_shuffle",
                             "--adam-beta1", "0.8", "--lr", "0.25", "--save_hf=out"});
  EXPECT_EQ(o.data_path, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(o.lr, 0.25) << "the last wins";
  EXPECT_EQ(o.min_lr, 1e-3);
  EXPECT_EQ(o.train_iters, 7);
  EXPECT_FALSE(o.shuffle);
  EXPECT_EQ(o.beta1, 0.8);
  EXPECT_EQ(o.save_hf, "out");
  EXPECT_FALSE(o.seed);
  EXPECT_TRUE(parse_options({"--describe"}).describe) << "needs no data";
}

TEST(Options, Refusals) {
  const std::pair<std::vector<std::string>, const char *> table[] = {
      {{}, "--data-path: expected the training data"},
      {{"--data-path"}, "--data-path: expected a value"},
      {{"stray"}, "expected a flag, got \"stray\""},
      {{"--data-path", "x", "--train-iter", "3"}, "unknown flag \"--train-iter\"; did you mean \"--train-iters\"?"},
      {{"--zzzzzzzzzzzz"}, "unknown flag \"--zzzzzzzzzzzz\"; --help lists"},
      {{"--lr", "fast"}, "--lr: expected a number, got \"fast\""},
      {{"--lr", "nan"}, "--lr: expected a number, got \"nan\""},
      {{"--lr", "-1"}, "--lr: expected a number of at least 0, got \"-1\""},
      {{"--lr", "--seed", "1"}, "--lr: expected a value (X), got none"},
      {{"--adam-beta2", "1"}, "--adam-beta2: expected a number of at least 0 and below 1, got \"1\""},
      {{"--train-iters", "0"}, "--train-iters: expected an integer of at least 1, got \"0\""},
      {{"--train-iters", "3.5"}, "--train-iters: expected an integer of at least 1, got \"3.5\""},
      {{"--train-iters", "99999999999999999999"},
       "--train-iters: expected an integer of at least 1 and at most 9223372036854775807, got "
       "\"99999999999999999999\""},
      {{"--cpu-threads", "4294967297"},
       "--cpu-threads: expected an integer of at least 1 and at most 1024, got \"4294967297\""},
      {{"--lr", "1e400"}, "--lr: expected a number that fits a double, got \"1e400\""},
      {{"--data-path", "x", "-lr", "3"}, "expected a flag, got \"-lr\"; flags start with \"--\""},
      {{"--data-path", "x", "--"}, "expected a flag, got \"--\"; flags start with"},
      {{"--loss-scale", "1"}, "there is no loss scaling; remove it"},
      {{"--seed", "-4"}, "--seed: expected an integer of at least 0"},
      {{"--no-shuffle=yes"}, "--no-shuffle: expected no value, got \"yes\""},
      {{"--lr-decay-style", "step"}, "--lr-decay-style: expected one of"},
      {{"--data-path", "x", "--min-lr", "1", "--lr", "0.1"}, "--min-lr: expected at most --lr (0.1), got 1"},
      {{"--data-path", "x", "--train-iters", "3", "--train-samples", "3"}, "got both"},
      {{"--data-path", "x", "--train-samples", "3", "--lr-warmup-iters", "1"}, "--lr-*-iters"},
      {{"--data-path", "x", "--lr-decay-style", "WSD"}, "add --lr-wsd-decay-iters N"},
      {{"--data-path", "x", "--save-interval", "5"}, "--save-interval: expected --save DIR"},
      {{"--distributed-timeout-minutes", "1e300"},
       "--distributed-timeout-minutes: expected a number of at least 1e-06 and below 1e+07, got \"1e300\""},
      {{"--eval-iters", "1"}, "--eval-iters is not implemented yet; remove it"},
      {{"--eval_interval", "1"}, "--eval-interval is not implemented yet"},
      {{"--split", "9,1,0"}, "--split is not implemented yet"},
  };
  for (auto &[words, part] : table)
    EXPECT_NE(refusal(words).find(part), std::string::npos) << refusal(words);
}

// What was decided when compiling is no mistyped flag of the run.
TEST(Options, FlagsOfTheCompilerAreNamedAsSuch) {
  for (const char *flag : {"--tp", "--micro-batch-size", "--micro_batch_size", "--sequence-parallel", "--output", "--num-layers",
                           "--recompute-granularity"})
    EXPECT_EQ(refusal({"--data-path", "x", flag, "2"}),
              "\"" + std::string(flag) + "\": expected a flag of this executable, got one of lf-compile, since model and plan are "
              "fixed in the executable; pass it to lf-compile and run what that writes (--describe prints the plan)");
  EXPECT_EQ(refusal({"--seq-length=128"}).find("\"--seq-length\": expected a flag of this executable, got one of lf-compile"), 0u);
}

TEST(Options, FlagsOfMegatronSayWhatToDoInstead) {
  EXPECT_EQ(refusal({"--data-path", "x", "--tokenizer_type", "GPT2BPETokenizer"}),
            "\"--tokenizer_type\": expected a flag of this executable, got one of Megatron without a counterpart: "
            "training reads "
            "token ids; remove it");
  EXPECT_EQ(
      refusal({"--data-path", "x", "--model-parallel-size", "2"}),
      "\"--model-parallel-size\": expected a flag of this executable, got one of Megatron without a counterpart: use "
      "--tensor-model-parallel-size of lf-compile");
  int seen = 0;
  lf::for_each_foreign_flag(lf::Adviser::executable, [&](const std::string &name, const std::string &advice) {
    ++seen;
    EXPECT_EQ(advice.find_first_of("{}"), std::string::npos) << advice;
    for (const char *other : lf::compile_flag_names) // its flags are said to be its
      if (const std::string flag = "--" + std::string(other);
          (" " + advice + " ").find(" " + flag + " ") != std::string::npos)
        EXPECT_NE(advice.find(" of lf-compile"), std::string::npos) << advice;
    EXPECT_NE(refusal({"--data-path", "x", "--" + name}).find(advice), std::string::npos) << name;
    for (const char *own : lf::run_flag_names)
      EXPECT_NE(name, own);
  });
  EXPECT_GT(seen, 190);
}

// What is quoted cannot move a terminal's cursor nor pass for another line.
TEST(Options, TextOfTheUserIsEscaped) {
  EXPECT_EQ(refusal({"a\nb\x1b[2J\"\\\x7f\xc2\x9b\xc3\xa9"}),
            "expected a flag, got \"a\\x0ab\\x1b[2J\\\"\\\\\\x7f\\xc2\\x9b\xc3\xa9\"; flags start with \"--\" (--help lists them)");
}

TEST(Options, AllThatIsWrongIsSaidAtOnce) {
  EXPECT_EQ(
      refusal({"--optimizer", "adam", "--lr", "fast", "--tp", "2", "--data-path", "x", "--optimizer", "adam"}),
      "\"--optimizer\": expected a flag of this executable, got one of Megatron without a counterpart: AdamW is the "
      "optimizer; remove it\n"
      "note: --lr: expected a number, got \"fast\"\n"
      "note: \"--tp\": expected a flag of this executable, got one of lf-compile, since model and plan are fixed in "
      "the "
      "executable; pass it to lf-compile and run what that writes (--describe prints the plan)");
}

TEST(Options, TheSharedListOfFlagsIsTheTable) {
  std::multiset<std::string> shared(std::begin(lf::run_flag_names), std::end(lf::run_flag_names)), table;
  shared.insert("help");
  for (const std::string &name : flag_names())
    table.insert(name);
  EXPECT_EQ(shared, table);
}

TEST(Options, HelpNamesWhatWorksAndOnlyThat) {
  std::string text = help_text("train");
  EXPECT_NE(text.find("--data-path PATH..."), std::string::npos);
  EXPECT_NE(text.find("--dump-gradients DIR"), std::string::npos);
  EXPECT_NE(text.find("--trace"), std::string::npos);
}

} // namespace
