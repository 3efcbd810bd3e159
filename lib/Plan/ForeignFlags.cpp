//===- ForeignFlags.cpp - Flags of launch scripts that have no counterpart --===//
//
// Each with what to do instead: a pasted script is answered flag by flag, never with "unknown".
//
//===----------------------------------------------------------------------===//
#include "Flags.h"

namespace lf {

static Flag foreign(const char *name, const char *why) { return {name, Kind::words, Stand::foreign, "", "", "", why}; }

void addForeignFlags(std::vector<Flag> &t) {
  auto add = [&](const char *why, const std::vector<const char *> &names) {
    for (const char *name : names)
      t.push_back(foreign(name, why));
  };
  t.push_back(foreign("fp16", "there is no loss scaling; use --bf16 or --fp32"));
  t.push_back(foreign("rampup-batch-size", "the batch size is fixed when compiling"));
  t.push_back(foreign("mock-data", "write a token file and pass it to the executable with --data-path"));
  add("training reads token ids; remove it",
      {"tokenizer-type", "tokenizer-model", "tiktoken-pattern", "vocab-file", "merge-file", "vocab-extra-ids"});
  t.push_back(foreign("padded-vocab-size", "the padding follows from --make-vocab-size-divisible-by"));
  t.push_back(foreign("model-parallel-size", "use --tensor-model-parallel-size"));
  t.push_back(foreign("use-tp-pp-dp-mapping", "the order of ranks is fixed"));
  add("sharding over data-parallel ranks is not implemented yet; remove it",
      {"use-megatron-fsdp", "use-torch-fsdp2", "use-custom-fsdp", "num-distributed-optimizer-instances",
       "overlap-param-gather-with-optimizer-step", "align-param-gather", "ddp-average-in-collective", "ddp-num-buckets",
       "use-precision-aware-optimizer", "main-grads-dtype", "main-params-dtype", "exp-avg-dtype", "exp-avg-sq-dtype"});
  add("recomputation is not implemented yet; remove it",
      {"recompute-activations", "checkpoint-activations", "distribute-saved-activations"});
  add("gradients are accumulated and summed over ranks in float32; remove it", {"grad-reduce-in-bf16"});
  add("fp8 is not implemented yet; remove it",
      {"fp8-format", "fp8-recipe", "fp8-margin", "fp8-interval", "fp8-amax-history-len", "fp8-amax-compute-algo",
       "fp8-param-gather", "fp8-wgrad", "first-last-layers-bf16"});
  add("a rate of its own for embedding and head is not implemented yet; remove it",
      {"decoupled-lr", "decoupled-min-lr"});
  add("weight decay is constant (--weight-decay of the executable); remove it",
      {"start-weight-decay", "end-weight-decay", "weight-decay-incr-style"});
  add("every token counts the same already; remove it", {"calculate-per-token-loss"});
  add("the batch size is fixed when compiling; remove it", {"decrease-batch-size-if-needed"});
  add("--metrics of the executable says what a run does; remove it", {"tensorboard-dir",
                                                                      "tensorboard-log-interval",
                                                                      "tensorboard-queue-size",
                                                                      "log-throughput",
                                                                      "log-params-norm",
                                                                      "log-num-zeros-in-grad",
                                                                      "log-timers-to-tensorboard",
                                                                      "log-validation-ppl-to-tensorboard",
                                                                      "log-memory-to-tensorboard",
                                                                      "log-world-size-to-tensorboard",
                                                                      "log-learning-rate-to-tensorboard",
                                                                      "log-loss-scale-to-tensorboard",
                                                                      "log-progress",
                                                                      "log-straggler",
                                                                      "timing-log-level",
                                                                      "timing-log-option",
                                                                      "barrier-with-L1-time",
                                                                      "no-barrier-with-level-1-timing",
                                                                      "wandb-project",
                                                                      "wandb-exp-name",
                                                                      "wandb-save-dir",
                                                                      "wandb-entity",
                                                                      "one-logger-project",
                                                                      "one-logger-run-name",
                                                                      "enable-one-logger",
                                                                      "no-one-logger",
                                                                      "logging-level"});
  add("--trace of the executable writes a timeline; remove it",
      {"profile", "profile-step-start", "profile-step-end", "profile-ranks", "use-pytorch-profiler",
       "record-memory-history"});
  add("the executable maps token files and reads no other; remove it",
      {"data-cache-path", "no-mmap-bin-files", "num-workers", "dataloader-type",
       "no-create-attention-mask-in-dataloader", "num-dataset-builder-threads", "train-data-path", "valid-data-path",
       "test-data-path", "data-args-path", "data-impl"});
  add("documents are not told apart yet; remove it", {"eod-mask-loss", "reset-position-ids", "reset-attention-mask"});
  add("a checkpoint of --save is whole, and --load reads all of it; remove it", {"ckpt-format",
                                                                                 "no-load-optim",
                                                                                 "no-load-rng",
                                                                                 "no-save-optim",
                                                                                 "no-save-rng",
                                                                                 "use-checkpoint-args",
                                                                                 "use-dist-ckpt",
                                                                                 "async-save",
                                                                                 "auto-detect-ckpt-format",
                                                                                 "ckpt-fully-parallel-save",
                                                                                 "ckpt-fully-parallel-load",
                                                                                 "ckpt-assume-constant-structure",
                                                                                 "finetune",
                                                                                 "exit-on-missing-checkpoint",
                                                                                 "override-opt_param-scheduler",
                                                                                 "override-opt-param-scheduler",
                                                                                 "use-checkpoint-opt_param-scheduler",
                                                                                 "use-checkpoint-opt-param-scheduler",
                                                                                 "non-persistent-save-interval",
                                                                                 "pretrained-checkpoint",
                                                                                 "dist-ckpt-strictness"});
  add("a run ends with its --train-iters or a signal; remove it",
      {"exit-interval", "exit-duration-in-mins", "exit-signal-handler"});
  add("the model file decides; remove it", {"apply-layernorm-1p",
                                            "squared-relu",
                                            "openai-gelu",
                                            "onnx-safe",
                                            "apply-residual-connection-post-layernorm",
                                            "add-position-embedding",
                                            "rope-scaling-factor",
                                            "rotary-seq-len-interpolation-factor",
                                            "rotary-interleaved",
                                            "multi-latent-attention",
                                            "q-lora-rank",
                                            "kv-lora-rank",
                                            "qk-head-dim",
                                            "qk-pos-emb-head-dim",
                                            "v-head-dim",
                                            "moe-layer-freq",
                                            "moe-ffn-hidden-size",
                                            "moe-shared-expert-intermediate-size",
                                            "moe-router-topk",
                                            "moe-router-score-function",
                                            "moe-grouped-gemm",
                                            "moe-router-topk-scaling-factor",
                                            "moe-router-enable-expert-bias",
                                            "moe-router-num-groups",
                                            "moe-router-group-topk",
                                            "moe-router-pre-softmax",
                                            "moe-router-dtype",
                                            "window-size"});
  add("nothing is collected while a program runs; remove it",
      {"manual-gc", "manual-gc-interval", "manual-gc-eval", "empty-unused-memory-level"});
  add("LoongForge's lists of layers are layouts here: use --pipeline-model-parallel-layout",
      {"custom-pipeline-layers", "custom-virtual-pipeline-layers", "custom-pipeline-recompute-layers"});
  add("stages are those of --pipeline-model-parallel-layout; remove it",
      {"standalone-embedding-stage", "encoder-pipeline-model-parallel-size"});
  add("the launcher and the runtime decide; remove it", {"local-rank",
                                                         "nccl-communicator-config-path",
                                                         "use-sharp",
                                                         "high-priority-stream-groups",
                                                         "lazy-mpu-init",
                                                         "distributed-timeout-seconds",
                                                         "enable-ft-package",
                                                         "disable-straggler-on-startup",
                                                         "use-cpu-initialization",
                                                         "perform-initialization",
                                                         "no-initialization",
                                                         "defer-embedding-wgrad-compute",
                                                         "tp-comm-bootstrap-backend",
                                                         "cuda-graph-scope",
                                                         "enable-cuda-graph",
                                                         "external-cuda-graph",
                                                         "cuda-graph-warmup-steps",
                                                         "no-async-tensor-model-parallel-allreduce",
                                                         "no-check-for-nan-in-loss-and-grad",
                                                         "check-for-nan-in-loss-and-grad",
                                                         "no-persist-layer-norm",
                                                         "no-scatter-gather-tensors-in-pipeline",
                                                         "no-contiguous-buffers-in-local-ddp"});
  add("there is one implementation; remove it", {"use-legacy-models", "spec"});
  t.push_back(foreign("distributed-backend", "the target and the launcher decide; remove it"));
  t.push_back(foreign("init-method-xavier-uniform", "weights are drawn from a normal distribution; remove it"));
  for (const char *name : {"num-layers-in-first-stage", "num-layers-in-first-pipeline-stage"})
    t.push_back(foreign(name, "use --decoder-first-pipeline-num-layers"));
  for (const char *name : {"num-layers-in-last-stage", "num-layers-in-last-pipeline-stage"})
    t.push_back(foreign(name, "use --decoder-last-pipeline-num-layers"));
  t.push_back(foreign("num-experts", "the model file decides; remove it"));
  t.push_back(foreign("use-rotary-position-embeddings", "the model file decides; remove it"));
  t.push_back(foreign("optimizer", "AdamW is the optimizer; remove it"));
  t.push_back(foreign("virtual-pipeline-model-parallel-size", "use --num-virtual-stages-per-pipeline-rank"));
  t.push_back(foreign("pipeline-model-parallel-split-rank", "there is no encoder beside the decoder; remove it"));
  t.push_back(foreign("no-position-embedding", "the model file decides; remove it"));
  t.push_back(foreign("transformer-impl", "the target decides; remove it"));
  for (const char *name : {"use-flash-attn", "attention-backend"})
    t.push_back(foreign(name, "the target decides how attention runs; remove it"));
  for (const char *name : {"no-masked-softmax-fusion", "no-bias-gelu-fusion", "no-bias-swiglu-fusion",
                           "no-bias-dropout-fusion", "no-rope-fusion", "no-gradient-accumulation-fusion"})
    t.push_back(foreign(name, "kernels are chosen when compiling; remove it"));
}

} // namespace lf
