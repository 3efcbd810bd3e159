//===- Flags.cpp - The table of every flag that lf-compile knows ------------===//
//
// Groups are those of docs/cli. The flags of the executable are listed so that a pasted launch script gets told where
// each of its flags goes; their names are the runtime's (lf/flag_names.h).
//
//===----------------------------------------------------------------------===//
#include "Flags.h"
#include "lf/flag_names.h"
#include "lf/foreign_flags.h"

#include <map>

namespace lf {
namespace {

using Words = std::vector<std::string>;

Flag size(const char *name, const char *alias, const char *help) {
  return {name, Kind::integer, Stand::plan, "1", "sizes", "N", help, {alias}};
}
Flag toggle(Stand stand, const char *group, const char *name, const char *help = "") {
  return {name, Kind::toggle, stand, "false", group, "", help};
}
Flag later(const char *group, const char *name, Kind kind, const char *neutral = "", Words choices = {}) {
  return {name, kind, Stand::later, neutral, group, "", "", {}, std::move(choices), 0};
}
Flag file(const char *name, const char *metavar, const char *help) {
  return {name, Kind::word, Stand::call, "", "files", metavar, help};
}
Flag shape(const char *name, Kind kind) { return {name, kind, Stand::model, "", "model", "", ""}; }

void planFlags(std::vector<Flag> &t) {
  t.push_back(size("tensor-model-parallel-size", "tp", "ranks that share each layer's weights"));
  t.push_back(size("pipeline-model-parallel-size", "pp", "ranks that share the layers"));
  t.push_back(size("context-parallel-size", "cp", "ranks that share a sequence (only 1 yet)"));
  t.push_back(size("expert-model-parallel-size", "ep", "ranks that share the experts (only 1 yet)"));
  t.push_back(size("expert-tensor-parallel-size", "etp", "ranks that share an expert (only 1 yet)"));
  t.push_back({"data-parallel-size", Kind::integer, Stand::plan, "1", "sizes", "N", "replicas", {"dp"}});
  t.push_back({"world-size", Kind::integer, Stand::plan, "", "sizes", "N", "all ranks; gives dp = N / (tp pp cp)"});

  t.push_back(toggle(Stand::plan, "TP", "sequence-parallel", "split the residual stream over tp as well"));

  t.push_back({"num-virtual-stages-per-pipeline-rank",
               Kind::integer,
               Stand::plan,
               "1",
               "PP",
               "N",
               "stages of each pipeline rank",
               {"vpp"}});
  t.push_back({"num-layers-per-virtual-pipeline-stage", Kind::integer, Stand::plan, "", "PP", "N",
               "instead of --vpp: layers of each stage"});
  t.push_back({"microbatch-group-size-per-virtual-pipeline-stage",
               Kind::integer,
               Stand::plan,
               "",
               "PP",
               "N",
               "micro-batches that run through a stage before the rank's next stage (pp)",
               {"microbatch-group-size-per-vp-stage"}});
  t.push_back(toggle(Stand::plan, "PP", "no-overlap-p2p-communication",
                     "with several stages on a rank: ask for a message when it is needed, not one pass ahead"));
  t.push_back({"pipeline-model-parallel-layout",
               Kind::word,
               Stand::plan,
               "",
               "PP",
               "LAYOUT",
               "stages as text: E embedding, t layer, L head and loss, | next stage, *N repeat; or auto",
               {"layout"}});
  t.push_back({"pipeline-schedule",
               Kind::word,
               Stand::plan,
               "1f1b",
               "PP",
               "NAME",
               "gpipe, 1f1b, interleaved, zb-h1 or zb-v",
               {},
               {"gpipe", "1f1b", "interleaved", "zb-h1", "zb-v"}});
  t.push_back(
      {"decoder-first-pipeline-num-layers", Kind::integer, Stand::plan, "", "PP", "N", "layers of the first stage"});
  t.push_back(
      {"decoder-last-pipeline-num-layers", Kind::integer, Stand::plan, "", "PP", "N", "layers of the last stage"});
  t.push_back(toggle(Stand::plan, "PP", "account-for-embedding-in-pipeline-split", "count the embedding as a layer"));
  t.push_back(toggle(Stand::plan, "PP", "account-for-loss-in-pipeline-split", "count the head as a layer"));

  t.push_back(
      {"seq-length", Kind::integer, Stand::plan, "", "shapes", "N", "tokens of a sample (the model's maximum)"});
  t.push_back({"micro-batch-size", Kind::integer, Stand::plan, "1", "shapes", "N", "samples of one rank at a time"});
  t.push_back(
      {"global-batch-size", Kind::integer, Stand::plan, "", "shapes", "N", "samples of a step (micro-batch x dp)"});
  t.push_back(toggle(Stand::plan, "shapes", "fp32", "compute in float32 (default of the cpu target)"));
  t.push_back(toggle(Stand::plan, "shapes", "bf16", "compute in bfloat16 (default of the cuda target)"));
  t.push_back(toggle(Stand::plan, "shapes", "fp64", "compute in float64, to verify (cpu target)"));
  t.push_back({"hidden-dropout", Kind::real, Stand::plan, "", "shapes", "P", "instead of the model file's"});
  t.push_back(
      {"attention-dropout", Kind::real, Stand::plan, "", "shapes", "P", "instead of the model file's (only 0 yet)"});
  t.push_back({"make-vocab-size-divisible-by", Kind::integer, Stand::plan, "128", "shapes", "N",
               "pad the vocabulary to a multiple of N x tp"});
  t.push_back({"ignore-config-field", Kind::words, Stand::plan, "", "shapes", "NAME...",
               "accept fields of the model file unread"});
  t.push_back(toggle(Stand::plan, "numerics", "deterministic-mode", "two runs give the same bits"));
  t.push_back({"memory-budget", Kind::integer, Stand::plan, "", "numerics", "BYTES",
               "refuse plans of which a rank needs more, with the driver's share on a GPU"});
  t.back().most = int64_t{1} << 60;
  t.push_back({"target", Kind::word, Stand::plan, "cpu", "files", "NAME", "cpu or cuda", {}, {"cpu", "cuda"}});
}

void mtpFlags(std::vector<Flag> &t) {
  t.push_back({"mtp-num-layers", Kind::integer, Stand::plan, "0", "MTP", "N", "depths of multi-token prediction"});
  t.back().least = 0;
  t.back().most = 16;
  t.push_back({"mtp-loss-scaling-factor", Kind::real, Stand::plan, "0.1", "MTP", "X",
               "weight of the mean of the depths' losses"});
}

void callFlags(std::vector<Flag> &t) {
  t.push_back(file("output", "OUT", "the executable, or the C++ source with --emit cpp"));
  t.back().aliases = {"o"};
  t.push_back({"emit", Kind::word, Stand::call, "exe", "files", "KIND", "exe or cpp", {}, {"exe", "cpp"}});
  t.push_back(toggle(Stand::call, "files", "dry-run", "print the plan report and build nothing"));
  t.push_back(file("report", "FILE.html", "write the plan report"));
  t.push_back(file("plan-trace", "FILE.json", "write the planned timetable as a trace, at 100 GFLOP/s a rank"));
  t.push_back(file("plan", "FILE.json", "read a plan; flags win over it"));
  t.push_back(file("plan-out", "FILE.json", "write the resolved plan"));
  t.push_back(
      file("stop-after", "PHASE", "stop after import, train, shard, spmd, pipeline, schedule, runtime or emit"));
  t.back().choices = {"import", "train", "shard", "spmd", "pipeline", "schedule", "runtime", "emit"};
  t.push_back(file("dump-phases-to", "DIR", "write the program after each phase"));
  t.push_back(toggle(Stand::call, "files", "help", "print this text"));
  t.back().aliases = {"h"};
}

void laterFlags(std::vector<Flag> &t) {
  t.push_back(later("TP", "tp-comm-overlap", Kind::toggle, "false"));
  t.push_back(later("PP", "overlap-p2p-communication-warmup-flush", Kind::toggle, "false"));
  t.push_back(later("CP", "cp-comm-type", Kind::word, "p2p", {"p2p", "a2a", "allgather", "all_gather", "a2a+p2p"}));
  t.push_back(later("CP", "hierarchical-context-parallel-sizes", Kind::words));
  t.push_back(later("MoE", "moe-token-dispatcher-type", Kind::word, "allgather", {"allgather", "alltoall", "flex"}));
  t.push_back(later("MoE", "moe-enable-deepep", Kind::toggle, "false"));
  t.push_back(later("MoE", "moe-deepep-num-sms", Kind::integer, "20"));
  t.push_back(later("MoE", "moe-permute-fusion", Kind::toggle, "false"));
  t.push_back(later("MoE", "overlap-moe-expert-parallel-comm", Kind::toggle, "false"));
  t.push_back(later("MoE", "delay-wgrad-compute", Kind::toggle, "false"));
  t.push_back(later("MoE", "moe-expert-capacity-factor", Kind::word));
  t.push_back(later("MoE", "moe-pad-expert-input-to-capacity", Kind::toggle, "false"));
  t.push_back(later("MoE", "moe-token-drop-policy", Kind::word, "probs", {"probs", "position"}));
  t.push_back(later("MoE", "moe-router-load-balancing-type", Kind::words, "aux_loss",
                    {"aux_loss", "seq_aux_loss", "global_aux_loss", "sinkhorn", "none"}));
  t.push_back(later("MoE", "moe-aux-loss-coeff", Kind::words, "0"));
  t.push_back(later("MoE", "moe-z-loss-coeff", Kind::words, "0"));
  t.push_back(later("MoE", "moe-router-bias-update-rate", Kind::words, "0"));
  t.push_back(later("DP", "data-parallel-sharding-strategy", Kind::word, "no_shard",
                    {"no_shard", "optim", "optim_grads", "optim_grads_params"}));
  t.push_back(later("DP", "use-distributed-optimizer", Kind::toggle, "false"));
  t.push_back(later("DP", "overlap-grad-reduce", Kind::toggle, "false"));
  t.push_back(later("DP", "overlap-param-gather", Kind::toggle, "false"));
  t.push_back(later("DP", "ddp-bucket-size", Kind::integer));
  t.push_back(later("recompute", "recompute-granularity", Kind::word, "", {"full", "selective"}));
  t.push_back(later("recompute", "recompute-method", Kind::word, "", {"uniform", "block"}));
  t.push_back(later("recompute", "recompute-num-layers", Kind::integer));
  t.push_back(later("recompute", "recompute-modules", Kind::words, "",
                    {"core_attn", "mlp", "mlp_act", "pre_mlp", "moe", "moe_act", "shared_experts", "routed_experts",
                     "layernorm", "mla_up_proj", "a2a_overlap_attn", "a2a_overlap_post_attn", "a2a_overlap_mlp"}));
  t.push_back(later("offload", "fine-grained-activation-offloading", Kind::toggle, "false"));
  t.push_back(later("offload", "offload-modules", Kind::words, "",
                    {"attn_norm", "core_attn", "attn_proj", "mlp_norm", "expert_fc1", "moe_act"}));
  t.push_back(later("offload", "offload-tensors", Kind::words, "", {"dispatched_input", "pre_mlp_layernorm_output"}));
  t.push_back(later("offload", "min-offloaded-tensor-size", Kind::integer, "1048576"));
  t.push_back(later("offload", "optimizer-cpu-offload", Kind::toggle, "false"));
  t.push_back(later("offload", "optimizer-offload-fraction", Kind::word, "1"));
  t.push_back(later("offload", "overlap-cpu-optimizer-d2h-h2d", Kind::toggle, "false"));
  t.push_back(later("loss", "cross-entropy-loss-fusion", Kind::toggle, "false"));
  t.push_back(later("loss", "cross-entropy-fusion-impl", Kind::word, "native", {"native", "linear"}));
  t.push_back(later("loss", "cross-entropy-chunking", Kind::word, "", {"vocab", "token"}));
}

bool asksForEvaluation(const std::string &name) {
  return name == "eval-iters" || name == "eval-interval" || name == "split";
}

void otherFlags(std::vector<Flag> &t) {
  for (const char *name : {"num-layers", "hidden-size", "ffn-hidden-size", "num-attention-heads", "num-query-groups",
                           "kv-channels", "max-position-embeddings", "vocab-size"})
    t.push_back(shape(name, Kind::integer));
  for (const char *name :
       {"norm-epsilon", "rotary-base", "rotary-percent", "init-method-std", "normalization", "position-embedding-type"})
    t.push_back(shape(name, Kind::word));
  for (const char *name : {"group-query-attention", "swiglu", "untie-embeddings-and-output-weights", "add-qkv-bias",
                           "disable-bias-linear", "qk-layernorm", "use-rope-scaling"})
    t.push_back(shape(name, Kind::toggle));
  // Gradients are accumulated, and softmax is taken, in float32 or wider.
  for (const char *name : {"accumulate-allreduce-grads-in-fp32", "attention-softmax-in-fp32", "use-mcore-models"})
    t.push_back(toggle(Stand::implied, "", name));
  for (const char *name : run_flag_names)
    t.push_back({name, Kind::words, Stand::runtime, "", "", "",
                 asksForEvaluation(name) ? "evaluation is not implemented yet; remove it" : ""});
}

std::vector<Flag> build() {
  std::vector<Flag> t;
  planFlags(t);
  mtpFlags(t);
  callFlags(t);
  laterFlags(t);
  otherFlags(t);
  for_each_foreign_flag(Adviser::compiler, [&](const std::string &name, const std::string &advice) {
    t.push_back({name, Kind::words, Stand::foreign, "", "", "", advice});
  });
  return t;
}

} // namespace

const std::vector<const char *> unevenFlags = {"decoder-first-pipeline-num-layers", "decoder-last-pipeline-num-layers",
                                               "account-for-embedding-in-pipeline-split",
                                               "account-for-loss-in-pipeline-split"};

const std::vector<Flag> &allFlags() {
  static const std::vector<Flag> table = build();
  return table;
}

const Flag *findFlag(const std::string &name) {
  static const std::map<std::string, const Flag *> index = [] {
    std::map<std::string, const Flag *> out;
    for (const Flag &flag : allFlags()) {
      out.emplace(flag.name, &flag);
      for (const std::string &alias : flag.aliases)
        out.emplace(alias, &flag);
    }
    return out;
  }();
  auto it = index.find(name);
  return it == index.end() ? nullptr : it->second;
}

std::string replacement(const Flag &flag) {
  static const std::string use = "use --";
  return flag.stand == Stand::foreign && flag.help.starts_with(use) ? flag.help.substr(use.size()) : "";
}

std::vector<std::string> flagNames() {
  std::vector<std::string> names;
  for (const Flag &flag : allFlags()) {
    if (flag.stand == Stand::foreign && replacement(flag).empty())
      continue;
    names.push_back(flag.name);
    names.insert(names.end(), flag.aliases.begin(), flag.aliases.end());
  }
  return names;
}

} // namespace lf
