/* lf/flag_names.h - which flags are lf-compile's, and which are the training executable's.
 *
 * Idea: one statement of the names, so that either program can say that a flag is the other's. Each has a table of what its own
 * flags mean; tests hold the tables against these lists.
 */
#ifndef LF_FLAG_NAMES_H
#define LF_FLAG_NAMES_H

#ifdef __cplusplus
namespace lf {

/// Flags and aliases of lf-compile, without dashes.
inline constexpr const char *compile_flag_names[] = {
    // the plan
    "tensor-model-parallel-size", "tp", "pipeline-model-parallel-size", "pp", "context-parallel-size", "cp",
    "expert-model-parallel-size", "ep", "expert-tensor-parallel-size", "etp", "data-parallel-size", "dp",
    "world-size", "sequence-parallel", "num-virtual-stages-per-pipeline-rank", "vpp",
    "num-layers-per-virtual-pipeline-stage", "microbatch-group-size-per-virtual-pipeline-stage",
    "microbatch-group-size-per-vp-stage", "no-overlap-p2p-communication", "pipeline-model-parallel-layout",
    "layout", "pipeline-schedule", "decoder-first-pipeline-num-layers", "decoder-last-pipeline-num-layers",
    "account-for-embedding-in-pipeline-split", "account-for-loss-in-pipeline-split", "seq-length",
    "micro-batch-size", "global-batch-size", "fp32", "bf16", "fp64", "hidden-dropout", "attention-dropout",
    "make-vocab-size-divisible-by", "ignore-config-field", "deterministic-mode", "memory-budget", "target",
    "mtp-num-layers", "mtp-loss-scaling-factor",
    // one call
    "output", "emit", "dry-run", "report", "plan-trace", "plan", "plan-out", "stop-after", "dump-phases-to",
    // not implemented yet
    "tp-comm-overlap", "overlap-p2p-communication-warmup-flush", "cp-comm-type", "hierarchical-context-parallel-sizes", "moe-token-dispatcher-type",
    "moe-enable-deepep", "moe-deepep-num-sms", "moe-permute-fusion", "overlap-moe-expert-parallel-comm",
    "delay-wgrad-compute", "moe-expert-capacity-factor", "moe-pad-expert-input-to-capacity",
    "moe-token-drop-policy", "moe-router-load-balancing-type", "moe-aux-loss-coeff", "moe-z-loss-coeff",
    "moe-router-bias-update-rate", "data-parallel-sharding-strategy", "use-distributed-optimizer",
    "overlap-grad-reduce", "overlap-param-gather", "ddp-bucket-size", "recompute-granularity", "recompute-method",
    "recompute-num-layers", "recompute-modules", "fine-grained-activation-offloading", "offload-modules",
    "offload-tensors", "min-offloaded-tensor-size", "optimizer-cpu-offload", "optimizer-offload-fraction",
    "overlap-cpu-optimizer-d2h-h2d", "cross-entropy-loss-fusion", "cross-entropy-fusion-impl",
    "cross-entropy-chunking",
    // the model's shape, as Megatron says it
    "num-layers", "hidden-size", "ffn-hidden-size", "num-attention-heads", "num-query-groups", "kv-channels",
    "max-position-embeddings", "vocab-size", "norm-epsilon", "rotary-base", "rotary-percent", "init-method-std",
    "normalization", "position-embedding-type", "group-query-attention", "swiglu",
    "untie-embeddings-and-output-weights", "add-qkv-bias", "disable-bias-linear", "qk-layernorm",
    "use-rope-scaling",
    // what happens anyway
    "accumulate-allreduce-grads-in-fp32", "attention-softmax-in-fp32", "use-mcore-models",
};

/// Flags of the training executable, without dashes; those that it refuses as not implemented too. "help" is both's.
inline constexpr const char *run_flag_names[] = {
    "data-path", "no-shuffle", "train-iters", "train-samples", "lr", "min-lr", "lr-warmup-init", "lr-warmup-iters",
    "lr-warmup-samples", "lr-warmup-fraction", "lr-decay-iters", "lr-decay-samples", "lr-decay-style",
    "lr-wsd-decay-style", "lr-wsd-decay-iters", "lr-wsd-decay-samples", "weight-decay", "adam-beta1", "adam-beta2",
    "adam-eps", "clip-grad", "seed", "cpu-threads", "distributed-timeout-minutes", "load", "save", "save-interval",
    "save-hf", "dump-gradients", "log-interval", "metrics", "trace", "describe", "eval-iters", "eval-interval",
    "split",
};

} // namespace lf
#endif
#endif
