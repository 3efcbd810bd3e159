/* lf/foreign_flags.h - flags of launch scripts for Megatron-LM and LoongForge that have no counterpart here.
 *
 * Idea: each with what to do instead, stated once for lf-compile and the training executable: a pasted script is answered
 * flag by flag, never with "unknown". Advice of lf-compile that is "use --" and a flag names one that stands in.
 */
#ifndef LF_FOREIGN_FLAGS_H
#define LF_FOREIGN_FLAGS_H

#ifdef __cplusplus
#include <sstream>
#include <string>
#include <utility>

namespace lf {

/// Flags that one piece of advice answers.
struct ForeignFlags {
  const char *advice; ///< "{c}" follows a flag of the compiler, "{x}" one of the executable
  const char *names; ///< without dashes, "-" for "_", separated by spaces
};

inline constexpr ForeignFlags foreign_flags[] = {
    {"there is no loss scaling; use --bf16 or --fp32{c}",
     "fp16"},
    {"there is no loss scaling; remove it",
     "loss-scale initial-loss-scale min-loss-scale loss-scale-window hysteresis"},
    {"the batch size is fixed when compiling",
     "rampup-batch-size"},
    {"write a token file and pass it with --data-path{x}",
     "mock-data"},
    {"training reads token ids; remove it",
     "tokenizer-type tokenizer-model tiktoken-pattern vocab-file merge-file vocab-extra-ids"},
    {"the padding follows from --make-vocab-size-divisible-by{c}",
     "padded-vocab-size"},
    {"use --tensor-model-parallel-size{c}",
     "model-parallel-size"},
    {"the order of ranks is fixed",
     "use-tp-pp-dp-mapping"},
    {"sharding over data-parallel ranks is not implemented yet; remove it",
     "use-megatron-fsdp use-torch-fsdp2 use-custom-fsdp num-distributed-optimizer-instances "
     "overlap-param-gather-with-optimizer-step align-param-gather ddp-average-in-collective ddp-num-buckets "
     "use-precision-aware-optimizer main-grads-dtype main-params-dtype exp-avg-dtype exp-avg-sq-dtype"},
    {"recomputation is not implemented yet; remove it",
     "recompute-activations checkpoint-activations distribute-saved-activations"},
    {"gradients are accumulated and summed over ranks in float32; remove it",
     "grad-reduce-in-bf16"},
    {"fp8 is not implemented yet; remove it",
     "fp8-format fp8-recipe fp8-margin fp8-interval fp8-amax-history-len fp8-amax-compute-algo fp8-param-gather "
     "fp8-wgrad first-last-layers-bf16"},
    {"a rate of its own for embedding and head is not implemented yet; remove it",
     "decoupled-lr decoupled-min-lr"},
    {"weight decay is constant (--weight-decay{x}); remove it",
     "start-weight-decay end-weight-decay weight-decay-incr-style"},
    {"every token counts the same already; remove it",
     "calculate-per-token-loss"},
    {"the batch size is fixed when compiling; remove it",
     "decrease-batch-size-if-needed"},
    {"--metrics{x} says what a run does; remove it",
     "tensorboard-dir tensorboard-log-interval tensorboard-queue-size log-throughput log-params-norm "
     "log-num-zeros-in-grad log-timers-to-tensorboard log-validation-ppl-to-tensorboard log-memory-to-tensorboard "
     "log-world-size-to-tensorboard log-learning-rate-to-tensorboard log-loss-scale-to-tensorboard log-progress "
     "log-straggler timing-log-level timing-log-option barrier-with-L1-time no-barrier-with-level-1-timing "
     "wandb-project wandb-exp-name wandb-save-dir wandb-entity one-logger-project one-logger-run-name "
     "enable-one-logger no-one-logger logging-level"},
    {"--trace{x} writes a timeline; remove it",
     "profile profile-step-start profile-step-end profile-ranks use-pytorch-profiler record-memory-history"},
    {"the executable maps token files and reads no other; remove it",
     "data-cache-path no-mmap-bin-files num-workers dataloader-type no-create-attention-mask-in-dataloader "
     "num-dataset-builder-threads train-data-path valid-data-path test-data-path data-args-path data-impl"},
    {"documents are not told apart yet; remove it",
     "eod-mask-loss reset-position-ids reset-attention-mask"},
    {"a checkpoint of --save{x} is whole, and --load reads all of it; remove it",
     "ckpt-format no-load-optim no-load-rng no-save-optim no-save-rng use-checkpoint-args use-dist-ckpt async-save "
     "auto-detect-ckpt-format ckpt-fully-parallel-save ckpt-fully-parallel-load ckpt-assume-constant-structure "
     "finetune exit-on-missing-checkpoint override-opt_param-scheduler override-opt-param-scheduler "
     "use-checkpoint-opt_param-scheduler use-checkpoint-opt-param-scheduler non-persistent-save-interval "
     "pretrained-checkpoint dist-ckpt-strictness"},
    {"a run ends with its --train-iters{x} or a signal; remove it",
     "exit-interval exit-duration-in-mins exit-signal-handler"},
    {"the model file decides; remove it",
     "apply-layernorm-1p squared-relu openai-gelu onnx-safe apply-residual-connection-post-layernorm "
     "add-position-embedding rope-scaling-factor rotary-seq-len-interpolation-factor rotary-interleaved "
     "multi-latent-attention q-lora-rank kv-lora-rank qk-head-dim qk-pos-emb-head-dim v-head-dim moe-layer-freq "
     "moe-ffn-hidden-size moe-shared-expert-intermediate-size moe-router-topk moe-router-score-function "
     "moe-grouped-gemm moe-router-topk-scaling-factor moe-router-enable-expert-bias moe-router-num-groups "
     "moe-router-group-topk moe-router-pre-softmax moe-router-dtype window-size num-experts "
     "use-rotary-position-embeddings no-position-embedding"},
    {"nothing is collected while a program runs; remove it",
     "manual-gc manual-gc-interval manual-gc-eval empty-unused-memory-level"},
    {"LoongForge's lists of layers are layouts here: use --pipeline-model-parallel-layout{c}",
     "custom-pipeline-layers custom-virtual-pipeline-layers custom-pipeline-recompute-layers"},
    {"stages are those of --pipeline-model-parallel-layout{c}; remove it",
     "standalone-embedding-stage encoder-pipeline-model-parallel-size"},
    {"the launcher and the runtime decide; remove it",
     "local-rank nccl-communicator-config-path use-sharp high-priority-stream-groups lazy-mpu-init "
     "distributed-timeout-seconds enable-ft-package disable-straggler-on-startup use-cpu-initialization "
     "perform-initialization no-initialization defer-embedding-wgrad-compute tp-comm-bootstrap-backend "
     "cuda-graph-scope enable-cuda-graph external-cuda-graph cuda-graph-warmup-steps "
     "no-async-tensor-model-parallel-allreduce no-check-for-nan-in-loss-and-grad check-for-nan-in-loss-and-grad "
     "no-persist-layer-norm no-scatter-gather-tensors-in-pipeline no-contiguous-buffers-in-local-ddp"},
    {"there is one implementation; remove it",
     "use-legacy-models spec"},
    {"the target and the launcher decide; remove it",
     "distributed-backend"},
    {"weights are drawn from a normal distribution; remove it",
     "init-method-xavier-uniform"},
    {"use --decoder-first-pipeline-num-layers{c}",
     "num-layers-in-first-stage num-layers-in-first-pipeline-stage"},
    {"use --decoder-last-pipeline-num-layers{c}",
     "num-layers-in-last-stage num-layers-in-last-pipeline-stage"},
    {"AdamW is the optimizer; remove it",
     "optimizer"},
    {"use --num-virtual-stages-per-pipeline-rank{c}",
     "virtual-pipeline-model-parallel-size"},
    {"there is no encoder beside the decoder; remove it",
     "pipeline-model-parallel-split-rank"},
    {"the target decides; remove it",
     "transformer-impl"},
    {"the target decides how attention runs; remove it",
     "use-flash-attn attention-backend"},
    {"kernels are chosen when compiling; remove it",
     "no-masked-softmax-fusion no-bias-gelu-fusion no-bias-swiglu-fusion no-bias-dropout-fusion no-rope-fusion "
     "no-gradient-accumulation-fusion"},
};

/// Who gives an advice; of the other's flags it says whose they are.
enum class Adviser { compiler, executable };

/// act(name, advice) for each flag.
template <class Act> void for_each_foreign_flag(Adviser adviser, Act act) {
  for (const ForeignFlags &flags : foreign_flags) {
    std::string advice = flags.advice;
    const bool compiler = adviser == Adviser::compiler;
    for (const auto &[mark, whose] : {std::pair("{c}", compiler ? "" : " of lf-compile"),
                                      std::pair("{x}", compiler ? " of the executable" : "")})
      if (const size_t at = advice.find(mark); at != std::string::npos)
        advice.replace(at, 3, whose);
    std::istringstream names(flags.names);
    for (std::string name; names >> name;)
      act(name, advice);
  }
}

} // namespace lf
#endif
#endif
