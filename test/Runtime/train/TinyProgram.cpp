//===- TinyProgram.cpp - A hand-written program on any small mesh ---------===//
//
// The step reads one micro-batch after another, adds 0.5 (w - target)^2 for each token (of the embedding: for the row
// of the token), synchronises the gradients over dp, and updates.
//
//===----------------------------------------------------------------------===//
#include "TinyProgram.h"

#include "rank.h"
#include "train/safetensors.h"
#include "train/shard.h"

#include <chrono>
#include <cmath>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <thread>
#include <unistd.h>

namespace lf::rt::test {

int64_t TinyProgram::nan_at_step = -1;
int32_t TinyProgram::drift_rank = -1;
int32_t TinyProgram::sleep_ms = 0;

namespace {

constexpr lf_axes PP = 1, DP = 2, TP = 4;
enum { WORLD = 0, DP_COMM = 1 };

/// Of logical element `index` of a parameter; no other input, so that every mesh has the same one.
double target(const std::string &name, int64_t index) {
  double sum = 0;
  for (char c : name)
    sum += c;
  return 0.1 * std::sin(sum + static_cast<double>(index));
}

template <class Real> void step_of(lf_rank *c) {
  const lf_program &p = *c->program;
  int64_t rows = p.seq_length, columns = p.micro_batch;
  if (TinyProgram::sleep_ms)
    std::this_thread::sleep_for(std::chrono::milliseconds(TinyProgram::sleep_ms));
  lf_begin_step(c);
  int32_t *ids = static_cast<int32_t *>(lf_arena(c, LF_WORKSPACE)), *labels = ids + rows * columns;
  Real *sums = reinterpret_cast<Real *>(labels + rows * columns);
  Real *w = static_cast<Real *>(lf_arena(c, LF_PARAMETERS)), *g = static_cast<Real *>(lf_arena(c, LF_GRADIENTS));
  int32_t last = p.axes[0].size - 1;
  for (int32_t mb = 0; mb < p.micro_batches; ++mb) {
    lf_load_batch(c, mb, ids, labels, nullptr);
    std::vector<double> tokens_of(TinyProgram::vocab, 0.0);
    for (int64_t i = 0; i < rows * columns; ++i)
      tokens_of[static_cast<size_t>(ids[i])] += 1.0;
    double tokens = static_cast<double>(rows * columns), loss = 0;
    for (const Piece &piece : pieces_of(p, c->pp)) {
      const lf_param &q = *piece.param;
      bool embed = std::string(q.name) == "embed";
      int64_t tp_size = q.split[q.ndim - 1] ? p.axes[2].size : 1, tp = tp_size > 1 ? c->coordinates[2] : 0;
      int64_t cols = q.shape[q.ndim - 1] / tp_size, outer = q.ndim > 1 ? q.shape[0] : 1;
      // each value's loss counts on one rank of those that hold it; its gradient on all of them
      bool counted = !piece.place->copy && (tp_size > 1 || c->coordinates[2] == 0);
      for (int64_t r = 0; r < outer; ++r)
        for (int64_t h = 0; h < cols; ++h) {
          double weight = embed ? (r < TinyProgram::vocab ? tokens_of[static_cast<size_t>(r)] : 0.0) : tokens;
          int64_t at = piece.offset + r * cols + h, index = r * q.shape[q.ndim - 1] + tp * cols + h;
          double away = static_cast<double>(w[at]) - target(piece.name(), index);
          if (!piece.place->copy)
            g[at] += static_cast<Real>(weight * away);
          loss += counted ? 0.5 * weight * away * away : 0.0;
        }
    }
    if (c->step.step == TinyProgram::nan_at_step && c->rank == 0)
      loss = NAN;
    sums[0] = static_cast<Real>(loss);
    sums[1] = static_cast<Real>(c->pp == last && c->coordinates[2] == 0 ? tokens : 0.0);
    lf_add_loss(c, &sums[0], &sums[1], 1);
  }
  for (int32_t i = 0; i < p.num_regions; ++i)
    if (p.regions[i].pp == c->pp && p.regions[i].comm >= 0)
      lf_all_reduce(c, "gradients", g + p.regions[i].offset, g + p.regions[i].offset, p.regions[i].count, p.dtype, LF_SUM,
                    p.regions[i].comm, 0);
  lf_finish_gradients(c);
  for (int32_t i = 0; i < p.num_regions; ++i)
    if (p.regions[i].pp == c->pp && !p.regions[i].copy)
      lf_adamw(c, "region", p.regions[i].offset, p.regions[i].count, p.regions[i].decay);
  if (c->rank == TinyProgram::drift_rank)
    w[p.regions[p.num_regions - 1].offset] += static_cast<Real>(1e-3);
  lf_end_step(c);
}

void step(lf_rank *c) { c->program->dtype == LF_F64 ? step_of<double>(c) : step_of<float>(c); }

lf_param parameter(const char *name, const char *hf, std::vector<int64_t> shape, std::vector<int64_t> valid,
                   std::vector<lf_axes> split) {
  lf_param p{};
  p.name = name;
  p.hf_name = hf;
  p.ndim = static_cast<int32_t>(shape.size());
  for (size_t d = 0; d < shape.size(); ++d) {
    p.shape[d] = shape[d];
    p.valid[d] = valid[d];
    p.split[d] = split[d];
  }
  p.row_dims = p.ndim - 1;
  p.decay = p.ndim > 1;
  p.init = p.ndim > 1 ? LF_INIT_NORMAL : LF_INIT_ONES;
  p.init_std = 0.02;
  return p;
}

} // namespace

TinyProgram::TinyProgram(int32_t pp, int32_t dp, int32_t tp, lf_dtype dtype, bool tied) {
  axes = {{"pp", pp}, {"dp", dp}, {"tp", tp}};
  comms = {{"world", PP | DP | TP}, {"dp", DP}};
  params = {parameter("embed", "model.embed_tokens.weight", {16, hidden}, {vocab, hidden}, {0, TP}),
            parameter("wa", "model.layers.%d.attn.c_attn.weight", {hidden, hidden}, {hidden, hidden}, {0, TP}),
            parameter("wb", "model.layers.%d.attn.c_attn.weight", {hidden, hidden}, {hidden, hidden}, {0, TP}),
            parameter("wc", "model.layers.%d.attn.c_attn.weight", {hidden, hidden}, {hidden, hidden}, {0, TP}),
            parameter("wo", "model.layers.%d.attn.o_proj.weight", {hidden, hidden}, {hidden, hidden}, {0, TP}),
            parameter("norm", "model.layers.%d.norm.weight", {hidden}, {hidden}, {0})};
  for (int i = 1; i <= 3; ++i) {
    params[static_cast<size_t>(i)].hf_cols = 3 * hidden;
    params[static_cast<size_t>(i)].hf_col = (i - 1) * hidden;
  }
  params[4].hf_transposed = 1;
  int64_t embed = 16 * hidden / tp, w = hidden * hidden / tp, layer = 4 * w, offset = 0;
  std::vector<int64_t> used(static_cast<size_t>(pp), 0);
  places.push_back({0, 0, -1, 1, 0, 0, 0});
  regions.push_back({0, 0, embed, DP_COMM, TP, 1, 0});
  used[0] = embed;
  offset = used[static_cast<size_t>(pp - 1)];
  for (int32_t i = 0; i < 4; ++i)
    places.push_back({1 + i, pp - 1, 0, 2, offset + i * w, layer, 0});
  regions.push_back({pp - 1, offset, 2 * layer, DP_COMM, TP, 1, 0});
  offset += 2 * layer;
  if (tied && pp > 1) { // a second copy of the embedding, never trained by this step
    places.push_back({0, pp - 1, -1, 1, offset, 0, 1});
    regions.push_back({pp - 1, offset, embed, -1, TP, 1, 1});
    offset += embed;
  }
  places.push_back({5, pp - 1, 0, 2, offset, hidden, 0});
  regions.push_back({pp - 1, offset, 2 * hidden, DP_COMM, 0, 0, 0});
  used[static_cast<size_t>(pp - 1)] = offset + 2 * hidden;
  int64_t size = dtype == LF_F64 ? 8 : 4;
  for (int64_t n : used)
    memory.push_back({n * size, n * size, 2 * n * size, 0, 4096, 0, 0});
  plan = R"({"version":1,"sizes":{"pp":)" + std::to_string(pp) + R"(,"dp":)" + std::to_string(dp) + R"(,"tp":)" +
         std::to_string(tp) + "}}";

  program.name = "tiny";
  program.config = R"({"model_type": "tiny", "vocab_size": 13})";
  program.plan = plan.c_str();
  program.report = "tiny: the report of the plan";
  program.dtype = dtype;
  program.axes = axes.data();
  program.num_axes = 3;
  program.pp = PP;
  program.dp = DP;
  program.tp = TP;
  program.comms = comms.data();
  program.num_comms = 2;
  program.world_comm = WORLD;
  program.params = params.data();
  program.num_params = static_cast<int32_t>(params.size());
  program.places = places.data();
  program.num_places = static_cast<int32_t>(places.size());
  program.regions = regions.data();
  program.num_regions = static_cast<int32_t>(regions.size());
  program.memory = memory.data();
  program.seq_length = seq;
  program.micro_batch = 1;
  program.micro_batches = global_batch / dp;
  program.vocab = vocab;
  program.layers = 2;
  program.flops_per_token = 1000;
  program.step = step;
}

Folder::Folder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "lf-train-XXXXXX").string();
  path = mkdtemp(pattern.data());
}
Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

std::string write_tokens(const Folder &folder, int64_t count) {
  std::string bytes;
  for (int64_t i = 0; i < count; ++i) {
    bytes += static_cast<char>((i * i + 3 * i) % TinyProgram::vocab);
    bytes += '\0';
  }
  write_file(folder / "tokens.bin", bytes);
  return folder / "tokens.bin";
}

std::string read_file(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

void write_file(const std::string &path, const std::string &bytes) { std::ofstream(path, std::ios::binary) << bytes; }

Result run(const TinyProgram &program, const std::vector<std::string> &arguments) {
  std::vector<std::string> words = {"train"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char *> argv;
  for (std::string &word : words)
    argv.push_back(word.data());
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  int code = lf_main(static_cast<int>(argv.size()), argv.data(), program.get());
  Result result{code, ::testing::internal::GetCapturedStdout(), ::testing::internal::GetCapturedStderr()};
  return result;
}

std::vector<double> column(const std::string &metrics, const std::string &name) {
  std::vector<double> values;
  std::ifstream file(metrics);
  for (std::string line; std::getline(file, line);)
    values.push_back(nlohmann::json::parse(line).at(name).get<double>());
  return values;
}

std::map<std::string, std::vector<double>> tensors(const std::string &path) {
  OpenFile file("test", path);
  std::map<std::string, std::vector<double>> values;
  for (auto &[name, tensor] : read_safetensors("test", file)) {
    int64_t count = (tensor.end - tensor.begin) / (tensor.type == FileType::f64 ? 8 : 4);
    for (int64_t i = 0; i < count; ++i)
      values[name].push_back(tensor.value(i));
  }
  return values;
}

} // namespace lf::rt::test
