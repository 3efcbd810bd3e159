//===- shard.cpp - Local shard of a parameter <-> region of its file tensor ===//
//
// See shard.h.
//
//===----------------------------------------------------------------------===//
#include "shard.h"

#include "../comm/mesh.h"
#include "../rank.h"
#include "../text.h"

#include <map>
#include <set>
#include <tuple>

namespace lf::rt {
namespace {

struct View {
  int64_t rows = 1, cols = 1, file_rows = 1, file_cols = 1;
};
View view_of(const lf_param &p) {
  View view;
  for (int32_t d = 0; d < p.ndim; ++d)
    (d < p.row_dims ? view.rows : view.cols) *= p.valid[d];
  view.file_rows = p.hf_rows > 0 ? p.hf_rows : view.rows;
  view.file_cols = p.hf_cols > 0 ? p.hf_cols : view.cols;
  return view;
}

} // namespace

Shard make_shard(const lf_program &program, const lf_param &p, const std::vector<int32_t> &coordinates) {
  Shard shard;
  View view = view_of(p);
  int64_t row_step = p.hf_transposed ? 1 : view.file_cols, col_step = p.hf_transposed ? view.file_rows : 1;
  shard.ndim = p.ndim;
  shard.base = p.hf_col * col_step + p.hf_row * row_step;
  for (int32_t d = p.ndim - 1, col = 1; d >= 0; --d) {
    if (d == p.row_dims - 1)
      col = 0;
    int64_t parts = group_size(program, p.split[d]);
    if (p.shape[d] % parts)
      throw Failure{2, "parameter " + quote(p.name) + ": expected dim " + std::to_string(d) + " of " +
                           std::to_string(p.shape[d]) + " to be a multiple of " + std::to_string(parts) +
                           " parts, got a rest of " + std::to_string(p.shape[d] % parts)};
    int64_t local = p.shape[d] / parts, start = local * group_index(program, coordinates, p.split[d]);
    int64_t &step = col ? col_step : row_step;
    shard.local[d] = local;
    shard.valid[d] = std::clamp<int64_t>(p.valid[d] - start, 0, local);
    shard.stride[d] = step;
    shard.base += start * step;
    shard.count *= local;
    step *= p.valid[d];
  }
  return shard;
}

std::string Piece::name() const {
  return layer < 0 ? param->name : "layers." + std::to_string(layer) + "." + param->name;
}

std::string Piece::hf_name() const {
  std::string name = param->hf_name;
  if (size_t at = name.find("%d"); at != std::string::npos)
    name.replace(at, 2, std::to_string(layer));
  return name;
}

std::vector<Piece> pieces_of(const lf_program &program, int32_t pp) {
  std::vector<Piece> pieces;
  for (int32_t i = 0; i < program.num_places; ++i) {
    const lf_place &place = program.places[i];
    if (place.pp == pp)
      for (int32_t k = 0; k < place.count; ++k)
        pieces.push_back({&place, &program.params[place.param], place.first < 0 ? -1 : place.first + k,
                          place.offset + k * place.stride});
  }
  return pieces;
}

bool speaks_for(const lf_program &program, const Piece &piece, const std::vector<int32_t> &coordinates) {
  lf_axes mine = program.pp;
  for (int32_t d = 0; d < piece.param->ndim; ++d)
    mine |= piece.param->split[d];
  for (int32_t a = 0; a < program.num_axes; ++a)
    if (!(mine >> a & 1) && coordinates[static_cast<size_t>(a)] != 0)
      return false;
  return !piece.place->copy && group_index(program, coordinates, program.pp) == piece.place->pp;
}

int64_t FileTensor::count() const {
  int64_t n = 1;
  for (int64_t extent : shape)
    n *= extent;
  return n;
}

std::vector<FileTensor> file_tensors(const lf_program &program) {
  std::vector<FileTensor> tensors;
  std::map<std::string, size_t> index;
  for (int32_t pp = 0; pp < group_size(program, program.pp); ++pp)
    for (const Piece &piece : pieces_of(program, pp)) {
      if (piece.place->copy)
        continue;
      auto [found, fresh] = index.try_emplace(piece.hf_name(), tensors.size());
      const lf_param &p = *piece.param;
      View view = view_of(p);
      std::vector<int64_t> shape = {view.file_cols};
      if (p.row_dims > 0)
        shape.insert(p.hf_transposed ? shape.end() : shape.begin(), view.file_rows);
      if (fresh)
        tensors.push_back({piece.hf_name(), shape, {}});
      FileTensor &tensor = tensors[found->second];
      if (tensor.shape != shape)
        throw Failure{2, "parameter " + quote(piece.name()) + ": expected its tensor " + quote(tensor.name) +
                             " to have the shape " + shape_text(tensor.shape) + " of its other parts, got " +
                             shape_text(shape)};
      tensor.parts.push_back(piece);
    }
  for (FileTensor &tensor : tensors) {
    auto place = [](const Piece &part) { return std::pair(part.param->hf_row, part.param->hf_col); };
    std::sort(tensor.parts.begin(), tensor.parts.end(),
              [&](const Piece &a, const Piece &b) { return place(a) < place(b); });
    // Bands of rows, each filled by columns.
    const View all = view_of(*tensor.parts[0].param);
    int64_t row = 0, column = 0;
    for (const Piece &part : tensor.parts) {
      if (part.param->hf_col != column || part.param->hf_row != row)
        throw Failure{2, "parameter " + quote(part.name()) + ": expected row " + std::to_string(row) + ", column " +
                             std::to_string(column) + " of " + quote(tensor.name) + ", got row " +
                             std::to_string(part.param->hf_row) + ", column " + std::to_string(part.param->hf_col)};
      const View view = view_of(*part.param);
      column += view.cols;
      if (column == all.file_cols) {
        row += view.rows;
        column = 0;
      }
    }
    if (row != all.file_rows || column != 0)
      throw Failure{2, "tensor " + quote(tensor.name) + ": expected parts of " + std::to_string(all.file_rows) +
                           " rows and " + std::to_string(all.file_cols) + " columns in all, got " +
                           std::to_string(row) + " rows and " + std::to_string(column ? column : all.file_cols) +
                           " columns"};
  }
  return tensors;
}

} // namespace lf::rt
