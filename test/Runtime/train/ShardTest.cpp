//===- ShardTest.cpp - The map from shards to file tensors ----------------===//
//
// Every element of every file tensor must be covered by exactly one rank that speaks for it, on every mesh.
//
//===----------------------------------------------------------------------===//
#include "train/shard.h"
#include "TinyProgram.h"
#include "comm/mesh.h"
#include "rank.h"
#include "train/initial_weights.h"
#include "train/region_norm.h"

#include <gtest/gtest.h>

using namespace lf::rt;
using namespace lf::rt::test;

namespace {

constexpr int32_t meshes[][3] = {{1, 1, 1}, {1, 2, 1}, {1, 1, 2}, {2, 1, 1}, {2, 2, 2}, {1, 1, 4}};

TEST(Shard, EveryElementIsSpokenForOnce) {
  for (auto [pp, dp, tp] : meshes) {
    TinyProgram tiny(pp, dp, tp, LF_F64, true);
    for (const FileTensor &tensor : file_tensors(tiny.program)) {
      std::vector<int> seen(static_cast<size_t>(tensor.count()), 0);
      for (int32_t rank = 0; rank < mesh_size(tiny.program); ++rank) {
        std::vector<int32_t> at = mesh_coordinates(tiny.program, rank);
        for (const Piece &part : tensor.parts)
          if (speaks_for(tiny.program, part, at))
            make_shard(tiny.program, *part.param, at).runs([&](int64_t, int64_t element, int64_t step, int64_t length) {
              for (int64_t i = 0; i < length; ++i)
                ++seen.at(static_cast<size_t>(element + i * step));
            });
      }
      for (size_t i = 0; i < seen.size(); ++i)
        EXPECT_EQ(seen[i], 1) << tensor.name << "[" << i << "], mesh " << pp << dp << tp;
    }
  }
}

TEST(Shard, FusedTransposedAndPadded) {
  TinyProgram tiny(1, 1, 2);
  std::vector<FileTensor> all = file_tensors(tiny.program);
  ASSERT_EQ(all.size(), 7u);
  EXPECT_EQ(all[0].shape, (std::vector<int64_t>{13, 4})) << "without padding";
  EXPECT_EQ(all[1].name, "model.layers.0.attn.c_attn.weight");
  EXPECT_EQ(all[1].shape, (std::vector<int64_t>{4, 12}));
  EXPECT_EQ(all[1].parts.size(), 3u);
  // wb [r, h] of tp rank 1: local (r, j) is column 4 + 2 + j of row r
  Shard wb = make_shard(tiny.program, tiny.program.params[2], {0, 0, 1});
  std::vector<int64_t> elements;
  wb.runs([&](int64_t, int64_t element, int64_t step, int64_t length) {
    for (int64_t i = 0; i < length; ++i)
      elements.push_back(element + i * step);
  });
  EXPECT_EQ(elements, (std::vector<int64_t>{6, 7, 18, 19, 30, 31, 42, 43}));
  // wo is stored [columns, rows]: local (r, j) of tp rank 1 is row 2 + j, column r
  elements.clear();
  make_shard(tiny.program, tiny.program.params[4], {0, 0, 1})
      .runs(1, 6, [&](int64_t, int64_t element, int64_t step, int64_t length) {
        for (int64_t i = 0; i < length; ++i)
          elements.push_back(element + i * step);
      });
  EXPECT_EQ(elements, (std::vector<int64_t>{12, 9, 13, 10, 14})) << "local elements 1 .. 6";
}

TEST(Shard, PartsThatLeaveAGapAreRefused) {
  TinyProgram tiny(1, 1, 1);
  std::vector<lf_param> params(tiny.program.params, tiny.program.params + tiny.program.num_params);
  params[2].hf_col = 5;
  tiny.program.params = params.data();
  EXPECT_THROW(file_tensors(tiny.program), Failure);
}

/// Two parameters that are the upper and lower rows of one tensor, stored transposed as eh_proj is.
TEST(Shard, BandsOfRows) {
  TinyProgram tiny(1, 1, 2);
  std::vector<lf_param> params(tiny.program.params, tiny.program.params + tiny.program.num_params);
  for (int i : {1, 2}) {
    params[static_cast<size_t>(i)].hf_col = 0;
    params[static_cast<size_t>(i)].hf_cols = 4;
    params[static_cast<size_t>(i)].hf_row = (i - 1) * 4;
    params[static_cast<size_t>(i)].hf_rows = 8;
    params[static_cast<size_t>(i)].hf_transposed = 1;
  }
  params[3].hf_name = "model.layers.%d.c.weight";
  params[3].hf_col = params[3].hf_cols = 0;
  tiny.program.params = params.data();
  FileTensor fused = file_tensors(tiny.program)[1];
  EXPECT_EQ(fused.shape, (std::vector<int64_t>{4, 8}));
  EXPECT_EQ(fused.parts.size(), 2u);
  // The lower band of tp rank 1: local (r, j) is row 4 + r, column 2 + j, at element (2 + j) * 8 + 4 + r.
  std::vector<int64_t> elements;
  make_shard(tiny.program, params[2], {0, 0, 1}).runs([&](int64_t, int64_t element, int64_t step, int64_t length) {
    for (int64_t i = 0; i < length; ++i)
      elements.push_back(element + i * step);
  });
  EXPECT_EQ(elements, (std::vector<int64_t>{20, 28, 21, 29, 22, 30, 23, 31}));
  params[2].hf_row = 5;
  EXPECT_THROW(file_tensors(tiny.program), Failure);
  params[2].hf_row = 0;
  EXPECT_THROW(file_tensors(tiny.program), Failure);
}

TEST(RegionNorm, EachRegionCountsOnceAndCopiesNever) {
  for (auto [pp, dp, tp] : meshes) {
    TinyProgram tiny(pp, dp, tp, LF_F64, true);
    for (int32_t i = 0; i < tiny.program.num_regions; ++i) {
      const lf_region &region = tiny.program.regions[i];
      int count = 0;
      for (int32_t rank = 0; rank < mesh_size(tiny.program); ++rank)
        count += counts_region(tiny.program, region, mesh_coordinates(tiny.program, rank));
      EXPECT_EQ(count, region.copy ? 0 : region.owned ? tp : 1) << "region " << i << ", mesh " << pp << dp << tp;
    }
  }
}

TEST(InitialWeights, AreNormalAndDependOnSeedNameAndElement) {
  uint64_t key = weights_key(1, "model.embed_tokens.weight");
  EXPECT_NE(key, weights_key(2, "model.embed_tokens.weight"));
  EXPECT_NE(key, weights_key(1, "lm_head.weight"));
  double sum = 0, squares = 0, fourth = 0;
  int n = 200000;
  for (int i = 0; i < n; ++i) {
    double z = normal(key, static_cast<uint64_t>(i));
    sum += z, squares += z * z, fourth += z * z * z * z;
  }
  EXPECT_NEAR(sum / n, 0.0, 0.01);
  EXPECT_NEAR(squares / n, 1.0, 0.02);
  EXPECT_NEAR(fourth / n, 3.0, 0.15);
  EXPECT_EQ(normal(key, 5), normal(key, 5));
}

} // namespace
