//===- step_cuda.cu - One step on a GPU, issued or replayed ---------------===//
//
// The rate, the clip factor and the number of labels stay on the device: the host reads a step's results when it is over.
//
//===----------------------------------------------------------------------===//
#include "../comm/comm.h"
#include "../context.h"
#include "../device/cuda/cuda_device.h"
#include "../environment.h"
#include "../kernels/cuda/adamw_of_step.h"
#include "device.h"
#include "options.h"
#include "../signals.h"
#include "step_sums.h"

#include <cmath>

namespace lf::rt {
namespace {

__global__ void pack_sums(StepSums *sums) {
  sums->all[0] = sums->loss;
  sums->all[1] = sums->count;
  sums->all[2] = sums->squares;
  sums->all[3] = sums->control.stop;
}

__global__ void judge_sums(StepSums *sums) {
  const double norm = sqrt(sums->all[2]) / sums->all[1];
  sums->finite = isfinite(sums->all[0] / sums->all[1]) && isfinite(norm);
  sums->scale = scale_of(sums->control.clip, norm, sums->all[1]);
}

/// What the host gives the step besides its tokens.
void upload_control(lf_rank &c) {
  const Options &o = *c.options;
  const double t = static_cast<double>(c.step.step + 1);
  StepControl &control = cuda(&c).control();
  control.lr = c.step.lr;
  control.rate = c.step.lr / (1.0 - std::pow(o.beta1, t));
  control.root = 1.0 / std::sqrt(1.0 - std::pow(o.beta2, t));
  control.clip = o.clip;
  control.stop = stop_wanted() || c.step.stop_asked ? 1.0 : 0.0;
  LF_CUDA(cudaMemcpyAsync(&cuda(&c).sums()->control, &control, sizeof control, cudaMemcpyHostToDevice,
                          cuda(&c).compute()));
}

bool graph_wanted(const lf_rank &c) {
  return environment_switch("LF_GRAPH", true) && c.options->trace.empty();
}

} // namespace

void read_step_sums(lf_rank &c) {
  StepSums &sums = cuda(&c).results();
  LF_CUDA(cudaMemcpyAsync(&sums, cuda(&c).sums(), sizeof sums, cudaMemcpyDeviceToHost, cuda(&c).compute()));
  finish(c, 0);
  if (sums.fault == 1)
    throw Failure{4, "expected positions below " + std::to_string(sums.bound) + ", the rows of the table, got " +
                         std::to_string(sums.value) + "; use a smaller --seq-length"};
  c.step.loss_sum = sums.loss;
  c.step.count = sums.count;
  c.step.square_sum = sums.squares;
}

void finish_step_sums(lf_rank &c) {
  StepSums *sums = cuda(&c).sums();
  cudaStream_t stream = cuda(&c).compute();
  pack_sums<<<1, 1, 0, stream>>>(sums);
  LF_LAUNCHED("step sums");
  c.comms[static_cast<size_t>(c.program->world_comm)]->all_reduce("loss, count, square sum", sums->all, sums->all, 4,
                                                                  LF_F64, LF_SUM, 0);
  count_sums(c, sums_of_step);
  judge_sums<<<1, 1, 0, stream>>>(sums);
  LF_LAUNCHED("step sums");
}

double labels_of_sums(lf_rank &c) {
  double labels = 0.0;
  copy_to_host(c, &labels, &cuda(&c).sums()->all[1], sizeof labels);
  return labels;
}

void update_parameters(lf_rank &c, int64_t offset, int64_t count, const AdamwParameters &constants) {
  auto at = [&](lf_arena_kind kind) { return static_cast<float *>(lf_arena(&c, kind)) + offset; };
  void *rounded = static_cast<char *>(lf_arena(&c, LF_PARAMETERS)) + offset * dtype_size(c.program->dtype);
  adamw_of_step(&c, at(LF_MASTER), rounded, at(LF_GRADIENTS), at(LF_MOMENT1), at(LF_MOMENT2), count, constants);
}

void run_step(lf_rank &c) {
  CudaDevice &device = cuda(&c);
  Replay &replay = device.replay;
  cudaStream_t stream = device.compute();
  upload_control(c);
  if (replay.captured()) {
    replay.launch(stream);
    for (const Traffic::Row &row : replay.traffic)
      c.traffic->add(row.comm, row.kind, row.bytes, row.messages);
    lf_end_step(&c);
  } else if (replay.can_capture()) {
    const std::vector<Traffic::Row> before = c.traffic->rows();
    replay.begin_capture(stream);
    c.program->step(&c);
    replay.end_capture(stream);
    replay.traffic = difference(c.traffic->rows(), before);
  } else {
    replay.begin_plain(graph_wanted(c));
    c.program->step(&c);
    replay.end_plain();
  }
  read_step_sums(c);
  accept_sums(c, device.results().all, c.step.step);
}

} // namespace lf::rt
