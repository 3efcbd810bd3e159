//===- export.cpp - Whole tensors from the shards of all ranks ------------===//
//
// See export.h.
//
//===----------------------------------------------------------------------===//
#include "export.h"

#include "../comm/comm.h"
#include "../comm/mesh.h"
#include "device.h"
#include "real.h"
#include "safetensors.h"

namespace lf::rt {
namespace {

/// Elements of one rank in one message: bounds what rank 0 holds beside the tensor itself.
constexpr int64_t chunk = int64_t(1) << 17;

template <class Real>
void gather_tensor(lf_rank &c, lf_arena_kind kind, const FileTensor &tensor, double scale, std::vector<Real> &whole) {
  const lf_program &program = *c.program;
  const Real *arena = static_cast<const Real *>(lf_arena(&c, kind));
  Communicator &world = *c.comms[static_cast<size_t>(program.world_comm)];
  whole.assign(c.rank == 0 ? static_cast<size_t>(tensor.count()) : 0, Real(0));
  for (const Piece &part : tensor.parts) {
    bool here = speaks_for(program, part, c.coordinates);
    int64_t count = make_shard(program, *part.param, c.coordinates).count;
    for (int64_t begin = 0; begin < count; begin += chunk) {
      int64_t end = std::min(count, begin + chunk), bytes = (end - begin) * static_cast<int64_t>(sizeof(Real));
      std::vector<Real> mine(static_cast<size_t>(end - begin), Real(0));
      std::vector<Real> all(c.rank == 0 ? mine.size() * static_cast<size_t>(c.world) : 0);
      if (here)
        copy_to_host(c, mine.data(), arena + part.offset + begin, bytes);
      world.gather("export", mine.data(), all.data(), bytes);
      for (int32_t rank = 0; c.rank == 0 && rank < c.world; ++rank) {
        std::vector<int32_t> coordinates = mesh_coordinates(program, rank);
        if (!speaks_for(program, part, coordinates))
          continue;
        const Real *from = all.data() + rank * (end - begin) - begin;
        make_shard(program, *part.param, coordinates)
            .runs(begin, end, [&](int64_t at, int64_t element, int64_t step, int64_t length) {
              for (int64_t i = 0; i < length; ++i)
                whole[static_cast<size_t>(element + i * step)] = static_cast<Real>(from[at + i] * scale);
            });
      }
    }
  }
}

void write_tensors(lf_rank &c, lf_arena_kind kind, double scale, const std::string &path) {
  with_real(*c.program, [&](auto real) {
    using Real = decltype(real);
    std::vector<FileTensor> tensors = file_tensors(*c.program);
    std::unique_ptr<SafetensorsWriter> writer;
    if (c.rank == 0) {
      std::vector<SafetensorsWriter::Tensor> declared;
      for (const FileTensor &tensor : tensors)
        declared.push_back({tensor.name, tensor.shape});
      writer = std::make_unique<SafetensorsWriter>(path, sizeof(Real) == 8 ? FileType::f64 : FileType::f32, declared);
    }
    std::vector<Real> whole;
    for (const FileTensor &tensor : tensors) {
      gather_tensor(c, kind, tensor, scale, whole);
      if (writer)
        writer->append(whole.data(), static_cast<int64_t>(whole.size() * sizeof(Real)));
    }
    if (writer)
      writer->publish();
  });
}

} // namespace

void save_hf(lf_rank &c, const std::string &folder) {
  if (c.rank == 0) {
    make_folder("--save-hf", folder);
    write_text(folder + "/config.json", c.program->config);
  }
  write_tensors(c, LF_MASTER, 1.0, folder + "/model.safetensors");
}

void dump_gradients(lf_rank &c, const std::string &folder, double scale) {
  if (c.rank == 0)
    make_folder("--dump-gradients", folder);
  write_tensors(c, LF_GRADIENTS, scale, folder + "/gradients.safetensors");
}

} // namespace lf::rt
