//===- checkpoint.cpp - Our own checkpoints: bit-exact resume -------------===//
//
// A rank's file: the 8 bytes "lfckpt02", u64 header length, JSON header, the arenas of master weights, first and second
// moments, u64 check sum of header and arenas, u64 check sum of those of all ranks, so that files of two runs are no
// checkpoint. "lfckpt01" of earlier versions has one sum at its end, of the arenas.
//
//===----------------------------------------------------------------------===//
#include "checkpoint.h"

#include "../comm/comm.h"
#include "../comm/mesh.h"
#include "../data/open_file.h"
#include "../data/permutation.h"
#include "checkpoint_fit.h"
#include "device.h"
#include "files.h"
#include "json.h"
#include "real.h"
#include "../text.h"

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace lf::rt {

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr char magic[] = "lfckpt02", first_magic[] = "lfckpt01";
constexpr const char *latest = "/latest_checkpointed_iteration.txt";
constexpr lf_arena_kind kinds[] = {LF_MASTER, LF_MOMENT1, LF_MOMENT2};
constexpr int64_t block = int64_t(1) << 22; ///< bytes copied at a time

std::string numbered(const char *format, int64_t number) {
  char name[64];
  std::snprintf(name, sizeof name, format, static_cast<long long>(number));
  return name;
}
std::string step_folder(int64_t step) { return numbered("iter_%07lld", step); }
std::string rank_file(int64_t rank) { return numbered("/rank_%05lld.lfckpt", rank); }

/// Order-dependent sum over 8-byte words; the tail is padded with zeros.
class CheckSum {
public:
  void add(const unsigned char *bytes, int64_t count) {
    for (int64_t i = 0; i < count; i += 8) {
      uint64_t word = 0;
      __builtin_memcpy(&word, bytes + i, static_cast<size_t>(std::min<int64_t>(8, count - i)));
      state = (state ^ word) * 0x9e3779b97f4a7c15u;
      state ^= state >> 29;
    }
  }
  uint64_t value() const { return mix(state); }

private:
  uint64_t state = 0x6c66636b70743031u;
};

uint64_t sum_of(const std::vector<uint64_t> &sums) {
  CheckSum sum;
  sum.add(reinterpret_cast<const unsigned char *>(sums.data()), static_cast<int64_t>(8 * sums.size()));
  return sum.value();
}

struct RankFile {
  OpenFile file;
  std::string text; ///< of the header
  json header;
  bool first = false; ///< of the first version
  int64_t data = 0; ///< byte offset of the arenas
  int64_t bytes[3] = {};

  RankFile(const std::string &path, const lf_program &program, int32_t rank) : file("--load", path) {
    auto refuse = [&](int64_t byte, const std::string &expected, const std::string &got) {
      throw Failure{4, "--load: " + quote(path) + ", byte " + std::to_string(byte) + ": expected " + expected +
                           ", got " + got};
    };
    char mark[16] = {};
    file.read(0, mark, std::min<int64_t>(16, file.size()));
    first = !__builtin_memcmp(mark, first_magic, 8);
    if (file.size() < 16 || (!first && __builtin_memcmp(mark, magic, 8) != 0))
      refuse(0, "the mark " + quote(magic) + " of a checkpoint",
             file.size() < 16 ? "a file of " + std::to_string(file.size()) + " bytes" : std::string("other bytes"));
    uint64_t length;
    __builtin_memcpy(&length, mark + 8, 8);
    if (int64_t most = std::min(file.size() - 16, int64_t(1) << 30); length > static_cast<uint64_t>(most))
      refuse(8, "a header of at most " + std::to_string(most) + " bytes (the file is cut off?)",
             std::to_string(length));
    text.resize(length);
    file.read(16, text.data(), static_cast<int64_t>(length));
    header = parse_object(text.data(), text.data() + length,
                          [&](int64_t byte, const std::string &expected, const std::string &got) {
                            refuse(16 + byte, expected + " as header", got);
                          });
    auto whole = [&](const char *name) {
      if (!header.contains(name) || !header[name].is_number_unsigned())
        refuse(16, "a header with a number " + quote(name), "none");
      return header[name].get<uint64_t>();
    };
    if (uint64_t got = whole("rank"); got != static_cast<uint64_t>(rank))
      refuse(16, "the file of rank " + std::to_string(rank), "that of rank " + std::to_string(got));
    whole("step"), whole("consumed"), whole("seed");
    if (std::string difference = misfit(header, program, rank); !difference.empty())
      throw Failure{4, "--load: " + quote(path) +
                           ": expected a checkpoint of this program's plan, got one of another: " + difference +
                           "; compile with the plan.json beside the checkpoint"};
    const int64_t batch = program.micro_batch * program.micro_batches * group_size(program, program.dp);
    uint64_t samples = 0;
    if (__builtin_mul_overflow(whole("step"), static_cast<uint64_t>(batch), &samples) || samples >> 62 ||
        whole("consumed") != samples)
      refuse(16, quote("consumed") + " to be its steps times " + std::to_string(batch) + ", the global batch",
             std::to_string(whole("consumed")) + " after step " + std::to_string(whole("step")));
    data = 16 + static_cast<int64_t>(length);
    int64_t end = data + (first ? 8 : 16);
    for (int i = 0; i < 3; ++i) {
      const char *names[] = {"parameter_bytes", "moment1_bytes", "moment2_bytes"};
      uint64_t size = whole(names[i]);
      if (size > static_cast<uint64_t>(file.size()))
        refuse(16, quote(names[i]) + " of at most the file's " + std::to_string(file.size()) + " bytes (it is cut off)",
               std::to_string(size));
      end += bytes[i] = static_cast<int64_t>(size);
    }
    if (end != file.size())
      refuse(file.size(), "a file of " + std::to_string(end) + " bytes", std::to_string(file.size()) + " bytes");
  }

  /// The `i`-th number behind the arenas.
  uint64_t sum(int i) const {
    uint64_t value;
    file.read(data + bytes[0] + bytes[1] + bytes[2] + 8 * i, &value, 8);
    return value;
  }
};

} // namespace

bool is_checkpoint(const std::string &directory) {
  std::error_code ignored;
  return fs::exists(directory + latest, ignored);
}

CheckpointInfo find_checkpoint(const std::string &directory, const lf_program &program) {
  std::string text = read_text("--load", directory + latest);
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' '))
    text.pop_back();
  CheckpointInfo info;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), info.step);
  if (error != std::errc() || end != text.data() + text.size() || info.step < 0)
    throw Failure{4, "--load: " + quote(directory + latest) + ": expected the number of a step, got " +
                         quote(text.substr(0, 40))};
  info.folder = directory + "/" + step_folder(info.step);
  std::vector<uint64_t> sums, whole;
  for (int64_t rank = 0, world = mesh_size(program); rank < world; ++rank) {
    RankFile file(info.folder + rank_file(rank), program, static_cast<int32_t>(rank));
    int64_t step = file.header["step"].get<int64_t>(), consumed = file.header["consumed"].get<int64_t>();
    uint64_t seed = file.header["seed"].get<uint64_t>();
    if (step != info.step || (rank > 0 && (consumed != info.consumed || seed != info.seed)))
      throw Failure{4, "--load: " + quote(file.file.path) + ": expected step " + std::to_string(info.step) +
                           " and the samples and seed of rank 0, got step " + std::to_string(step) + ", " +
                           std::to_string(consumed) + " samples, seed " + std::to_string(seed)};
    info.consumed = consumed;
    info.seed = seed;
    if (!file.first)
      sums.push_back(file.sum(0)), whole.push_back(file.sum(1));
  }
  const uint64_t expected = sum_of(sums);
  for (size_t rank = 0; rank < whole.size(); ++rank)
    if (whole[rank] != expected)
      throw Failure{4, "--load: " + quote(info.folder + rank_file(static_cast<int64_t>(rank))) +
                           ": expected the files of all ranks to be of one run (check sum " + std::to_string(expected) +
                           "), got " + std::to_string(whole[rank]) +
                           "; a file was exchanged or damaged: restore the folder as it was saved"};
  return info;
}

void load_checkpoint(lf_rank &c, const CheckpointInfo &info) {
  RankFile file(info.folder + rank_file(c.rank), *c.program, c.rank);
  int64_t from = file.data;
  CheckSum sum;
  if (!file.first)
    sum.add(reinterpret_cast<const unsigned char *>(file.text.data()), static_cast<int64_t>(file.text.size()));
  std::vector<unsigned char> host;
  for (int i = 0; i < 3; ++i) {
    if (file.bytes[i] != c.arena_bytes[kinds[i]])
      throw Failure{4, "--load: " + quote(file.file.path) + ": expected an arena of " +
                           std::to_string(c.arena_bytes[kinds[i]]) + " bytes, got " + std::to_string(file.bytes[i])};
    for (int64_t at = 0, end; at < file.bytes[i]; at = end) {
      end = std::min(file.bytes[i], at + block);
      host.resize(static_cast<size_t>(end - at));
      file.file.read(from + at, host.data(), end - at);
      sum.add(host.data(), end - at);
      copy_to_device(c, static_cast<char *>(c.arenas[kinds[i]]) + at, host.data(), end - at);
    }
    from += file.bytes[i];
  }
  if (const uint64_t stored = file.sum(0); stored != sum.value())
    throw Failure{4, "--load: " + quote(file.file.path) + ", byte " + std::to_string(from) +
                         ": expected the check sum " + std::to_string(sum.value()) + " of what it holds, got " +
                         std::to_string(stored) + "; the file is damaged"};
  c.step.step = info.step;
  c.step.consumed = info.consumed;
}

void drop_unfinished(const std::string &directory) {
  std::error_code ignored;
  std::vector<fs::path> found;
  for (const fs::directory_entry &entry : fs::directory_iterator(directory, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind(".iter_", 0) == 0 && entry.path().extension() == ".tmp")
      found.push_back(entry.path());
  }
  for (const fs::path &path : found)
    fs::remove_all(path, ignored);
}

/// Of the sums of all ranks; all ranks take part.
static uint64_t sum_over_ranks(Communicator &world, uint64_t mine) {
  std::vector<uint64_t> sums(world.rank() == 0 ? static_cast<size_t>(world.size()) : 0);
  world.gather("save: check sums", &mine, sums.data(), sizeof mine);
  uint64_t all = world.rank() == 0 ? sum_of(sums) : 0;
  world.broadcast("save: check sum", &all, sizeof all);
  return all;
}

static void write_rank_file(lf_rank &c, Communicator &world, const std::string &folder) {
  const json header = {{"rank", c.rank},
                       {"world", c.world},
                       {"program", c.program->name ? c.program->name : ""},
                       {"step", static_cast<uint64_t>(c.step.step)},
                       {"consumed", static_cast<uint64_t>(c.step.consumed)},
                       {"seed", c.seed},
                       {"parameter_bytes", static_cast<uint64_t>(c.arena_bytes[LF_MASTER])},
                       {"moment1_bytes", static_cast<uint64_t>(c.arena_bytes[LF_MOMENT1])},
                       {"moment2_bytes", static_cast<uint64_t>(c.arena_bytes[LF_MOMENT2])},
                       {"places", places_of(*c.program, c.rank)},
                       {"plan", plan_of(*c.program)}};
  const std::string text = header.dump();
  const uint64_t length = text.size();
  AtomicFile file(folder + rank_file(c.rank));
  file.write(magic, 8);
  file.write(&length, 8);
  file.write(text.data(), static_cast<int64_t>(length));
  CheckSum sum;
  sum.add(reinterpret_cast<const unsigned char *>(text.data()), static_cast<int64_t>(length));
  std::vector<unsigned char> host;
  for (lf_arena_kind kind : kinds)
    for (int64_t at = 0, end; at < c.arena_bytes[kind]; at = end) {
      end = std::min(c.arena_bytes[kind], at + block);
      host.resize(static_cast<size_t>(end - at));
      copy_to_host(c, host.data(), static_cast<char *>(c.arenas[kind]) + at, end - at);
      sum.add(host.data(), end - at);
      file.write(host.data(), end - at);
    }
  const uint64_t sums[] = {sum.value(), sum_over_ranks(world, sum.value())};
  file.write(sums, sizeof sums);
  file.publish();
}

void save_checkpoint(lf_rank &c, const std::string &directory) {
  Communicator &world = *c.comms[static_cast<size_t>(c.program->world_comm)];
  const std::string name = step_folder(c.step.step), temporary = directory + "/." + name + ".tmp";
  std::error_code ignored;
  if (c.rank == 0) {
    fs::remove_all(temporary, ignored); // what a killed run left
    make_folder("--save", temporary);
    write_text(temporary + "/plan.json", c.program->plan ? c.program->plan : "");
  }
  world.barrier("save: folder made");
  write_rank_file(c, world, temporary);
  world.barrier("save: files written");
  if (c.rank == 0) {
    publish_folder(temporary, directory + "/" + name);
    write_text(directory + latest, std::to_string(c.step.step) + "\n");
  }
  world.barrier("save: published");
}

} // namespace lf::rt
