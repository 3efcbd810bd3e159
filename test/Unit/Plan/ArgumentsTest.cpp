//===- ArgumentsTest.cpp - Spellings of flags, and flags that are refused ---===//
//
// Aliases, "-" and "_", "=", lists, the last of a repeated flag; then each way to get a flag wrong.
//
//===----------------------------------------------------------------------===//
#include "../../../lib/Plan/Flags.h"
#include "Compile.h"
#include "lf/flag_names.h"

#include <set>

using namespace lf;

namespace {

class ArgumentsTest : public CompileTest {};

TEST_F(ArgumentsTest, AllSpellingsOfAFlagAreOne) {
  for (const char *line : {"--tensor-model-parallel-size 2", "--tensor_model_parallel_size 2", "--tp 2", "--tp=2",
                           "--tensor_model-parallel_size=2", "--tp 4 --tp 2"})
    EXPECT_EQ(plan(line).tp, 2) << line;
  EXPECT_EQ(plan("--layout Ett|ttL --pp 2").layout, "Ett|ttL");
  EXPECT_TRUE(plan("--tp 2 --sequence_parallel").sequenceParallel);
  EXPECT_FALSE(plan("--tp 2 --sequence-parallel --sequence-parallel=false").sequenceParallel);
}

TEST_F(ArgumentsTest, TheCallIsReadToo) {
  CompileRequest r = compile("--target cuda --emit cpp --report r.html --plan-trace t.json --plan-out p.json "
                             "--dump-phases-to d --stop-after spmd --memory-budget 85899345920");
  EXPECT_EQ(r.target, Target::cuda);
  EXPECT_EQ(r.plan.dtype, Dtype::bf16);
  EXPECT_EQ(r.output, "out");
  EXPECT_EQ(r.emit, "cpp");
  EXPECT_EQ(r.report, "r.html");
  EXPECT_EQ(r.planTrace, "t.json");
  EXPECT_EQ(r.planOut, "p.json");
  EXPECT_EQ(r.dumpPhases, "d");
  EXPECT_EQ(r.stopAfter, "spmd");
  EXPECT_EQ(r.plan.memoryBudget, 85899345920);
  EXPECT_FALSE(r.dryRun);
  EXPECT_EQ(compile("--fp64").plan.dtype, Dtype::f64);
}

TEST_F(ArgumentsTest, HelpNeedsNoModel) {
  EXPECT_TRUE(parseCompile({"--help"}, model).help);
  EXPECT_TRUE(parseCompile({"-h"}, model).help);
  for (const Flag &flag : allFlags())
    if (flag.stand == Stand::plan || flag.stand == Stand::call || flag.stand == Stand::later)
      EXPECT_NE(compileHelp().find("--" + flag.name), std::string::npos) << flag.name;
}

TEST_F(ArgumentsTest, UnknownFlagsGetTheNearest) {
  EXPECT_EQ(refusal("--frobnicate-everything 10"),
            "unknown option \"--frobnicate-everything\"; --help lists the known ones");
  EXPECT_EQ(refusal("--num-layers-in-first-stagee 10"),
            R"(unknown option "--num-layers-in-first-stagee", did you mean "--decoder-first-pipeline-num-layers"?)");
  EXPECT_EQ(
      refusal("--decoder-first-pipeline-num-layer 1"),
      R"(unknown option "--decoder-first-pipeline-num-layer", did you mean "--decoder-first-pipeline-num-layers"?)");
  EXPECT_EQ(refusal("--tensor-model-paralel-size 2"),
            R"(unknown option "--tensor-model-paralel-size", did you mean "--tensor-model-parallel-size"?)");
  EXPECT_EQ(refusal("--sequence_paralel"),
            R"(unknown option "--sequence_paralel", did you mean "--sequence-parallel"?)");
  EXPECT_EQ(refusal("--global-batch 4"), R"(unknown option "--global-batch", did you mean "--global-batch-size"?)");
  EXPECT_EQ(refusal("-x"), R"(unknown option "-x", did you mean "-o"?)");
}

TEST_F(ArgumentsTest, WrongValues) {
  EXPECT_EQ(refusal("--tp"), R"("--tp": expected a value, got the end of the command line)");
  EXPECT_EQ(refusal("--tp --pp 2"), R"("--tp": expected a value, got the flag "--pp")");
  EXPECT_EQ(refusal("--tp two"), R"("--tp": expected an integer from 1 to 2147483647, got "two")");
  EXPECT_EQ(refusal("--tp 0"), R"("--tp": expected an integer from 1 to 2147483647, got "0")");
  EXPECT_EQ(refusal("--tp -2"), R"("--tp": expected an integer from 1 to 2147483647, got "-2")");
  EXPECT_EQ(refusal("--tp 2.0"), R"("--tp": expected an integer from 1 to 2147483647, got "2.0")");
  EXPECT_EQ(refusal("--tp 99999999999999999999"),
            R"("--tp": expected an integer from 1 to 2147483647, got "99999999999999999999")");
  EXPECT_EQ(refusal("--hidden-dropout nan"),
            R"("--hidden-dropout": expected a number of at least 0 and below 1, got "nan")");
  EXPECT_EQ(refusal("--hidden-dropout 1e-310 --attention-dropout 0e-400"), "accepted");
  EXPECT_EQ(refusal("--attention-dropout 1e-310").find("attention dropout is not implemented yet"), 0u);
  EXPECT_EQ(refusal("--emit obj"), R"("--emit": expected "exe" or "cpp", got "obj")");
  EXPECT_EQ(refusal("--report="), R"("--report": expected a value, got "")");
  EXPECT_EQ(refusal("--fp32 --fp64"), R"(expected one of "--fp32", "--bf16" and "--fp64", got "--fp32" and "--fp64")");
  EXPECT_EQ(refusal("--bf16"),
            R"("--bf16": expected float32 or float64 on the cpu target, got bfloat16; pass --target cuda or --fp32)");
  EXPECT_EQ(refusal("--fp64 --target cuda"),
            R"("--fp64": expected float32 or bfloat16 on the cuda target, got float64; pass --target cpu)");
  EXPECT_EQ(refusal("--tp -1 --pp=-1"),
            R"(expected every degree to be stated, since only one (dp) is derived, got )"
            R"("--tp" -1 and "--pp" -1; for example --world-size 16 --tp 2 --pp 2 gives dp 4)");
}

TEST_F(ArgumentsTest, WordsThatAreNoFlags) {
  EXPECT_EQ(refusal("other.json"), "expected one model, got 2 words that are no flags: \"" +
                                       (folder / "config.json").string() + "\" and \"other.json\"");
  try {
    parseCompile({"-o", "out"}, model);
    ADD_FAILURE();
  } catch (const Error &e) {
    EXPECT_STREQ(e.what(),
                 "expected a model (a config.json, its folder, or a model.json), got none; --help shows the usage");
  }
  try {
    parseCompile({write("config.json", json.dump())}, model);
    ADD_FAILURE();
  } catch (const Error &e) {
    EXPECT_STREQ(e.what(), "expected an output file (-o OUT), got none; --dry-run and --stop-after need none");
  }
}

TEST_F(ArgumentsTest, NotImplementedYetIsRefusedByName) {
  EXPECT_EQ(refusal("--recompute-granularity full"), R"("--recompute-granularity" is not implemented yet; remove it)");
  EXPECT_EQ(refusal("--recompute_modules core_attn mlp"), R"("--recompute_modules" is not implemented yet; remove it)");
  EXPECT_EQ(
      refusal("--recompute-modules attention"),
      R"("--recompute-modules": expected "core_attn", "mlp", "mlp_act", "pre_mlp", "moe", "moe_act", "shared_experts", "routed_experts", "layernorm", "mla_up_proj", "a2a_overlap_attn", "a2a_overlap_post_attn" or "a2a_overlap_mlp", got "attention")");
  EXPECT_EQ(refusal("--use-distributed-optimizer"),
            R"("--use-distributed-optimizer" is not implemented yet; remove it)");
  EXPECT_EQ(refusal("--data-parallel-sharding-strategy optim"),
            R"("--data-parallel-sharding-strategy" is not implemented yet: expected "no_shard", got "optim")");
  EXPECT_EQ(refusal("--overlap-p2p-communication-warmup-flush"),
            R"("--overlap-p2p-communication-warmup-flush" is not implemented yet; remove it)");
  EXPECT_EQ(refusal("--cp 2"), R"("--context-parallel-size" is not implemented yet: expected 1, got 2)");
  // Neutral values ask for nothing.
  EXPECT_EQ(refusal("--cp 1 --ep 1 --etp 1 --vpp 1 --cp-comm-type p2p --mtp-num-layers 0 --moe-aux-loss-coeff 0.0 "
                    "--data-parallel-sharding-strategy no_shard --no-overlap-p2p-communication"),
            "accepted");
}

TEST_F(ArgumentsTest, FlagsThatBelongElsewhere) {
  EXPECT_EQ(refusal("--lr 1e-4"),
            R"("--lr": expected a flag of lf-compile, got one of the training executable; pass it to )"
            R"(the program that lf-compile writes (./train --lr ...))");
  EXPECT_NE(refusal("--train-samples 8").find("got one of the training executable"), std::string::npos);
  EXPECT_EQ(refusal("--fp16"),
            R"("--fp16": expected a flag of lf-compile, got one of Megatron without a counterpart: there )"
            R"(is no loss scaling; use --bf16 or --fp32)");
  for (const char *line : {"--use-flash-attn", "--attention-backend fused", "--transformer-impl transformer_engine",
                           "--no-position-embedding", "--no-masked-softmax-fusion", "--no-rope-fusion"})
    EXPECT_NE(refusal(line).find("one of Megatron without a counterpart: "), std::string::npos) << refusal(line);
  EXPECT_EQ(refusal("--attention-softmax-in-fp32 --accumulate-allreduce-grads-in-fp32"), "accepted");
}

// A pasted launch script gets everything that is wrong with its flags in one answer.
TEST_F(ArgumentsTest, AllRefusalsOfALineAreTold) {
  auto told = [&](const std::string &line) -> std::vector<std::string> {
    try {
      compile(line);
    } catch (const Error &e) {
      std::vector<std::string> out = {e.what()};
      out.insert(out.end(), e.notes.begin(), e.notes.end());
      return out;
    }
    return {};
  };
  EXPECT_EQ(
      told("--tp 2 --lr 1e-4 --tensorboard-dir tb --sequnce-parallel --frobnicate 1 2 --tp two --train-iters 5 --lr 2 "
           "--eval-iters 10 --recompute-granularity full --clip-grad 1"),
      (std::vector<std::string>{
          R"("--tensorboard-dir": expected a flag of lf-compile, got one of Megatron without a counterpart: --metrics of the )"
          R"(executable says what a run does; remove it)",
          R"(unknown option "--sequnce-parallel", did you mean "--sequence-parallel"?)",
          R"(unknown option "--frobnicate"; --help lists the known ones)",
          R"("--tp": expected an integer from 1 to 2147483647, got "two")",
          R"("--eval-iters": evaluation is not implemented yet; remove it)",
          R"("--recompute-granularity" is not implemented yet; remove it)",
          R"("--lr", "--train-iters" and "--clip-grad": expected flags of lf-compile, got those of the training executable; )"
          R"(pass them to the program that lf-compile writes (./train --lr ...))",
      }));
  EXPECT_EQ(told("--eval-iters 10 --tp two").size(), 2u);
  EXPECT_EQ(told("--tp two --tp two").size(), 1u) << "each once";
}

// One name, one row: what stands in the table twice would be read as its first row.
TEST_F(ArgumentsTest, EveryNameIsOnce) {
  std::set<std::string> names;
  for (const Flag &flag : allFlags()) {
    EXPECT_TRUE(names.insert(flag.name).second) << flag.name;
    for (const std::string &alias : flag.aliases)
      EXPECT_TRUE(names.insert(alias).second) << alias;
    if (flag.stand == Stand::foreign)
      EXPECT_FALSE(flag.help.empty()) << flag.name;
    if (!replacement(flag).empty())
      EXPECT_NE(findFlag(replacement(flag)), nullptr) << flag.help;
  }
}

TEST_F(ArgumentsTest, ModelFlagsMustAgreeWithTheFile) {
  EXPECT_EQ(refusal("--num-layers 4 --hidden-size 64 --ffn-hidden-size 192 --num-attention-heads 8 "
                    "--group-query-attention --num-query-groups 4 --swiglu --untie-embeddings-and-output-weights "
                    "--disable-bias-linear --normalization RMSNorm --position-embedding-type rope --rotary-base 10000 "
                    "--norm-epsilon 1e-6 --max-position-embeddings 128"),
            "accepted");
  EXPECT_EQ(refusal("--num-layers 5"),
            R"("--num-layers": expected 4 as the model file says, got "5"; remove the flag or change the model file)");
  EXPECT_EQ(
      refusal("--norm-epsilon 1e-5"),
      R"("--norm-epsilon": expected 1e-06 as the model file says, got "1e-5"; remove the flag or change the model file)");
  EXPECT_EQ(
      refusal("--qk-layernorm"),
      R"("--qk-layernorm": expected "false" as the model file says, got "true"; remove the flag or change the model file)");
  EXPECT_EQ(
      refusal("--use-rope-scaling"),
      R"("--use-rope-scaling": expected "false" as the model file says, got "true"; remove the flag or change the model file)");
  EXPECT_EQ(plan("--num-layers 4").options.count("num-layers"), 0u);
}

TEST_F(ArgumentsTest, AllThatDisagreesIsSaidAtOnce) {
  auto notes = [&](const std::string &line) {
    try {
      compile(line);
    } catch (const Error &e) {
      return e.notes.size();
    }
    return size_t(99);
  };
  EXPECT_EQ(notes("--num-layers 5 --hidden-size 3 --rotary-base 7 --qk-layernorm"), 3u);
  EXPECT_EQ(notes("--cp 2 --ep 2 --etp 2"), 2u);
}

TEST_F(ArgumentsTest, UnknownModelFieldsCanBeIgnored) {
  json["totally_new_field"] = 3;
  EXPECT_NE(refusal("").find("\"/totally_new_field\""), std::string::npos);
  EXPECT_EQ(plan("--ignore-config-field totally_new_field another").options["ignore-config-field"],
            "totally_new_field another");
}

/// The executable knows our flags by this list.
TEST_F(ArgumentsTest, TheSharedListOfFlagsIsTheTable) {
  std::multiset<std::string> shared(std::begin(compile_flag_names), std::end(compile_flag_names)), table;
  for (const Flag &flag : allFlags()) {
    if (flag.stand == Stand::runtime || flag.stand == Stand::foreign || flag.name == "help")
      continue;
    table.insert(flag.name);
    for (const std::string &alias : flag.aliases)
      if (alias.size() > 1)
        table.insert(alias);
  }
  EXPECT_EQ(shared, table);
}

/// Every flag that the interface names is known: refused or accepted, but never unknown, and never a crash.
TEST_F(ArgumentsTest, EveryFlagOfTheInterfaceIsKnown) {
  const std::vector<std::string> names = {"target",
                                          "emit",
                                          "dry-run",
                                          "report",
                                          "plan-trace",
                                          "plan",
                                          "plan-out",
                                          "stop-after",
                                          "dump-phases-to",
                                          "memory-budget",
                                          "tensor-model-parallel-size",
                                          "tp",
                                          "pipeline-model-parallel-size",
                                          "pp",
                                          "context-parallel-size",
                                          "cp",
                                          "expert-model-parallel-size",
                                          "ep",
                                          "expert-tensor-parallel-size",
                                          "etp",
                                          "data-parallel-size",
                                          "dp",
                                          "world-size",
                                          "sequence-parallel",
                                          "tp-comm-overlap",
                                          "num-layers-per-virtual-pipeline-stage",
                                          "num-virtual-stages-per-pipeline-rank",
                                          "vpp",
                                          "pipeline-model-parallel-layout",
                                          "layout",
                                          "microbatch-group-size-per-virtual-pipeline-stage",
                                          "microbatch-group-size-per-vp-stage",
                                          "no-overlap-p2p-communication",
                                          "decoder-first-pipeline-num-layers",
                                          "decoder-last-pipeline-num-layers",
                                          "account-for-embedding-in-pipeline-split",
                                          "account-for-loss-in-pipeline-split",
                                          "pipeline-schedule",
                                          "cp-comm-type",
                                          "hierarchical-context-parallel-sizes",
                                          "moe-token-dispatcher-type",
                                          "moe-enable-deepep",
                                          "moe-deepep-num-sms",
                                          "moe-permute-fusion",
                                          "overlap-moe-expert-parallel-comm",
                                          "delay-wgrad-compute",
                                          "moe-expert-capacity-factor",
                                          "moe-pad-expert-input-to-capacity",
                                          "moe-token-drop-policy",
                                          "moe-router-load-balancing-type",
                                          "moe-aux-loss-coeff",
                                          "moe-z-loss-coeff",
                                          "moe-router-bias-update-rate",
                                          "data-parallel-sharding-strategy",
                                          "use-distributed-optimizer",
                                          "overlap-grad-reduce",
                                          "overlap-param-gather",
                                          "ddp-bucket-size",
                                          "recompute-granularity",
                                          "recompute-method",
                                          "recompute-num-layers",
                                          "recompute-modules",
                                          "fine-grained-activation-offloading",
                                          "offload-modules",
                                          "offload-tensors",
                                          "min-offloaded-tensor-size",
                                          "optimizer-cpu-offload",
                                          "optimizer-offload-fraction",
                                          "overlap-cpu-optimizer-d2h-h2d",
                                          "cross-entropy-loss-fusion",
                                          "cross-entropy-fusion-impl",
                                          "cross-entropy-chunking",
                                          "mtp-num-layers",
                                          "mtp-loss-scaling-factor",
                                          "deterministic-mode",
                                          "seq-length",
                                          "micro-batch-size",
                                          "global-batch-size",
                                          "fp32",
                                          "bf16",
                                          "fp64",
                                          "hidden-dropout",
                                          "attention-dropout",
                                          "make-vocab-size-divisible-by"};
  for (const std::string &name : names)
    for (const char *value : {"", " 1", " x", "=", "=true", " -7 9"})
      EXPECT_EQ(refusal("--" + name + value).find("unknown option"), std::string::npos) << name << value;
}

} // namespace
