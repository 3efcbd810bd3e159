//===- job.cpp - One run: what is checked before it, and its loop ---------===//
//
// See job.h.
//
//===----------------------------------------------------------------------===//
#include "job.h"

#include "../comm/comm.h"
#include "../comm/mesh.h"
#include "device.h"
#include "export.h"
#include "files.h"
#include "initial_weights.h"
#include "metrics.h"
#include "outputs.h"
#include "real.h"
#include "replicas.h"
#include "../text.h"
#include "trace_file.h"

#include <chrono>

namespace lf::rt {

namespace {

void find_weights(Job &job) {
  const std::string &path = job.options.load;
  if (path.empty())
    return;
  if (is_checkpoint(path))
    job.checkpoint = find_checkpoint(path, *job.program);
  else if (SafetensorsFolder::present(path))
    job.weights = std::make_unique<HfWeights>(path, *job.program);
  else
    throw Failure{4, "--load: " + quote(path) +
                         ": expected a folder with \"model.safetensors\", \"model.safetensors.index.json\" or "
                         "\"latest_checkpointed_iteration.txt\", got none of them"};
}

} // namespace

std::unique_ptr<Job> prepare(const lf_program &program, Options options) {
  auto job = std::make_unique<Job>();
  job->program = &program;
  job->options = std::move(options);
  const Options &o = job->options;
  job->global_batch = program.micro_batch * program.micro_batches * group_size(program, program.dp);
  find_weights(*job);
  job->seed = o.seed.value_or(job->checkpoint ? job->checkpoint->seed : default_seed);
  if (job->checkpoint && job->seed != job->checkpoint->seed)
    throw Failure{2, "--seed: expected " + std::to_string(job->checkpoint->seed) +
                         ", with which the checkpoint was made, got " + std::to_string(job->seed) +
                         "; leave --seed out to resume"};

  auto data = std::make_unique<TokenSource>(o.data_path, program.seq_length, job->global_batch, program.vocab, o.shuffle, job->seed);
  job->steps = o.train_iters     ? *o.train_iters
               : o.train_samples ? *o.train_samples / job->global_batch
                                 : std::max<int64_t>(1, data->samples() / job->global_batch);
  if (job->steps < 1)
    throw Failure{2, "--train-samples: expected at least one batch of " + std::to_string(job->global_batch) + ", got " +
                         std::to_string(*o.train_samples)};
  if (job->steps > (int64_t(1) << 62) / job->global_batch)
    throw Failure{2, "--train-iters: expected fewer than 2^62 samples in all, got " + std::to_string(job->steps) +
                         " steps of " + std::to_string(job->global_batch)};
  job->rate = std::make_unique<LearningRate>(o, job->global_batch, job->steps * job->global_batch);
  std::vector<int32_t> tokens(static_cast<size_t>(program.seq_length + 1));
  for (int64_t i = 0, first = job->checkpoint ? job->checkpoint->consumed : 0; i < job->global_batch; ++i)
    data->read(first + i, tokens.data());
  job->data = std::move(data);
  check_outputs(o);
  replicas_asked(); // a mistake in it is said before the run, not after
  return job;
}

void train(Job &job, lf_rank &c) {
  const Options &o = job.options;
  c.seed = job.seed;
  c.options = &job.options;
  c.tokens = std::make_shared<TokenSource>(*job.data);
  if (c.rank == 0 && !o.save.empty()) { // before anything is written; the first wait for rank 0 tells the others
    job.saving = std::make_unique<FolderLock>("--save", o.save);
    if (job.saving->alone())
      drop_unfinished(o.save);
  }
  std::unique_ptr<TraceRecording> trace;
  if (!o.trace.empty())
    trace = std::make_unique<TraceRecording>(c, o.trace);
  rehearse(c);
  if (job.checkpoint)
    load_checkpoint(c, *job.checkpoint);
  else
    for (const Piece &piece : pieces_of(*c.program, c.pp))
      job.weights ? job.weights->load(c, piece) : initialise(c, piece);
  round_parameters(c, 0, c.arena_bytes[LF_MASTER] / dtype_size(main_dtype(*c.program)));
  c.step.first = c.step.step;

  using Clock = std::chrono::steady_clock;
  auto ms_since = [](Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  };
  Metrics metrics(c, job.checkpoint.has_value(), c.step.step < job.steps);
  metrics.start(job.steps, job.checkpoint ? "of " + quote(job.checkpoint->folder)
                           : job.weights  ? "of " + quote(o.load)
                                          : "random, seed " + std::to_string(job.seed));
  if (c.rank == 0 && job.weights && !job.weights->absent().empty())
    std::printf("notice: --load: %s lacks tensors of multi-token prediction; initialised with seed %llu: %s\n",
                quote(o.load).c_str(), static_cast<unsigned long long>(job.seed),
                name_list(job.weights->absent()).c_str());
  if (int64_t depths = job.weights ? job.weights->ignored_depths() : 0; c.rank == 0 && depths > 0)
    std::printf("notice: --load: %s has %lld %s of multi-token prediction that this program has not, which %s neither "
                "trained nor saved; to train them, compile with --mtp-num-layers %lld\n",
                quote(o.load).c_str(), static_cast<long long>(depths), depths == 1 ? "depth" : "depths",
                depths == 1 ? "is" : "are", static_cast<long long>(c.program->mtp_depths + depths));
  StepReport report;
  report.step = c.step.step;
  report.steps = job.steps;
  int64_t saved = job.checkpoint ? c.step.step : -1; // what --save need not write again
  if (saved >= 0 && o.save != o.load)
    saved = -1;
  if (trace)
    trace->start();
  auto begin = Clock::now();
  while (c.step.step < job.steps && !c.step.stop) {
    auto start = Clock::now();
    c.step.lr = job.rate->at(c.step.consumed);
    run_step(c);
    report = {c.step.step,      job.steps, c.step.consumed, c.step.loss,
              c.step.grad_norm, c.step.lr, ms_since(start), c.step.mtp_loss};
    metrics.report(report);
    if (o.save_interval && c.step.step % o.save_interval == 0) {
      save_checkpoint(c, o.save);
      saved = c.step.step;
    }
  }
  if (trace)
    trace->stop();
  if (!o.save.empty() && saved != c.step.step)
    save_checkpoint(c, o.save);
  const bool stopped = c.step.stop && c.step.step < job.steps;
  if (!o.save_hf.empty() && !stopped)
    save_hf(c, o.save_hf);
  if (!stopped) {
    metrics.summary(report, c.step.step - c.step.first, ms_since(begin) * 1e-3);
    if (replicas_asked())
      check_replicas(c);
  } else {
    job.stopped = true;
    if (c.rank == 0 && !metrics.failed())
      std::printf("stopped by a signal after step %lld of %lld%s\n", static_cast<long long>(c.step.step),
                  static_cast<long long>(job.steps), o.save.empty() ? ", not saved (--save DIR was not given)" : "");
    std::fflush(stdout);
  }
  if (trace) // last: what cannot be written costs nothing else
    trace->write();
  metrics.check();
}

} // namespace lf::rt
