// Collectives.cpp - every collective, over every group of every mesh, gives exactly the values of its definition.
//
// Idea: each rank computes what it expects from value(rank, i) of its group's members; sums are compared bit for bit.
#include "TestProgram.h"
#include "context.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

using namespace lf::rt;
using namespace lf::test;

namespace {

class Collectives : public testing::TestWithParam<std::vector<int32_t>> {
protected:
  /// Runs `body(rank, comm index, communicator, count)` with empty, small, odd and large counts.
  template <class Body> void everywhere(lf_dtype dtype, Body body) {
    TestProgram test(GetParam(), dtype);
    EXPECT_EQ(run_ranks(&test.program, {},
                        [&](lf_rank &c) {
                          for (int32_t comm = 0; comm < test.program.num_comms; ++comm)
                            for (int64_t count : {0, 1, 37, 5003})
                              body(c, comm, *c.comms[comm], count);
                        }),
              0);
  }
};

template <class Real> constexpr lf_dtype dtype_of = sizeof(Real) == 8 ? LF_F64 : LF_F32;

/// x of `rank`: blocks x count elements.
template <class Real> std::vector<Real> input(int32_t rank, int64_t elements) {
  std::vector<Real> x(elements);
  for (int64_t i = 0; i < elements; ++i)
    x[i] = value<Real>(rank, i);
  return x;
}

template <class Real> Real reduced(const Communicator &group, int64_t i, lf_reduction op) {
  Real sum = value<Real>(group.members()[0], i);
  for (int32_t m = 1; m < group.size(); ++m) {
    Real next = value<Real>(group.members()[m], i);
    sum = op == LF_SUM ? sum + next : std::max(sum, next);
  }
  return sum;
}

template <class Real> void gather_values(lf_rank &c, int32_t comm, Communicator &group, int64_t count) {
  std::vector<Real> x = input<Real>(c.rank, count), y(count * group.size()), expected;
  lf_all_gather(&c, "gathered", x.data(), y.data(), count, c.program->dtype, comm, 0);
  for (int32_t member : group.members())
    for (int64_t i = 0; i < count; ++i)
      expected.push_back(value<Real>(member, i));
  EXPECT_EQ(y, expected) << group.name();
}

template <class Real> void scatter_values(lf_rank &c, int32_t comm, Communicator &group, int64_t count) {
  for (lf_reduction op : {LF_SUM, LF_MAX}) {
    std::vector<Real> x = input<Real>(c.rank, count * group.size()), y(count), expected;
    lf_reduce_scatter(&c, "scattered", x.data(), y.data(), count, c.program->dtype, op, comm, 0);
    for (int64_t i = 0; i < count; ++i)
      expected.push_back(reduced<Real>(group, group.rank() * count + i, op));
    EXPECT_EQ(y, expected) << group.name();
  }
}

template <class Real> void reduce_values(lf_rank &c, int32_t comm, Communicator &group, int64_t count) {
  for (lf_reduction op : {LF_SUM, LF_MAX}) {
    std::vector<Real> x = input<Real>(c.rank, count), y(count), expected;
    lf_all_reduce(&c, "reduced", x.data(), y.data(), count, c.program->dtype, op, comm, 0);
    for (int64_t i = 0; i < count; ++i)
      expected.push_back(reduced<Real>(group, i, op));
    EXPECT_EQ(y, expected) << group.name();
    EXPECT_EQ(x, input<Real>(c.rank, count)) << "the input must stay";
    lf_all_reduce(&c, "reduced in place", x.data(), x.data(), count, c.program->dtype, op, comm, 0);
    EXPECT_EQ(x, expected) << group.name();
  }
}

template <class Real> void exchange_values(lf_rank &c, int32_t comm, Communicator &group, int64_t count) {
  std::vector<Real> x = input<Real>(c.rank, count * group.size()), y(count * group.size()), expected;
  lf_all_to_all(&c, "exchanged", x.data(), y.data(), count, c.program->dtype, comm, 0);
  for (int32_t member : group.members())
    for (int64_t i = 0; i < count; ++i)
      expected.push_back(value<Real>(member, group.rank() * count + i));
  EXPECT_EQ(y, expected) << group.name();
}

} // namespace

TEST_P(Collectives, AllGatherF32) { everywhere(LF_F32, gather_values<float>); }
TEST_P(Collectives, AllGatherF64) { everywhere(LF_F64, gather_values<double>); }
TEST_P(Collectives, ReduceScatterF32) { everywhere(LF_F32, scatter_values<float>); }
TEST_P(Collectives, ReduceScatterF64) { everywhere(LF_F64, scatter_values<double>); }
TEST_P(Collectives, AllReduceF32) { everywhere(LF_F32, reduce_values<float>); }
TEST_P(Collectives, AllReduceF64) { everywhere(LF_F64, reduce_values<double>); }
TEST_P(Collectives, AllToAllF32) { everywhere(LF_F32, exchange_values<float>); }
TEST_P(Collectives, AllToAllF64) { everywhere(LF_F64, exchange_values<double>); }

// Bytes go from every possible root to all, and from all to it.
TEST_P(Collectives, BroadcastAndGather) {
  everywhere(LF_F32, [](lf_rank &c, int32_t, Communicator &group, int64_t bytes) {
    for (int32_t root = 0; root < group.size(); ++root) {
      std::vector<char> data(bytes, static_cast<char>(group.rank() + 1));
      group.broadcast("word", data.data(), bytes, root);
      EXPECT_EQ(data, std::vector<char>(bytes, static_cast<char>(root + 1)));

      const bool is_root = group.rank() == root;
      std::vector<char> mine(bytes, static_cast<char>(c.rank + 1)), all(is_root ? bytes * group.size() : 0), expected;
      group.gather("words", mine.data(), is_root ? all.data() : nullptr, bytes, root);
      for (int32_t member : group.members())
        expected.insert(expected.end(), is_root ? bytes : 0, static_cast<char>(member + 1));
      EXPECT_EQ(all, expected);
    }
  });
}

// A barrier is left by nobody before everybody has come: each member's count, gathered after it, is complete.
TEST_P(Collectives, ManySmallOnesInARow) {
  TestProgram test(GetParam(), LF_F64);
  EXPECT_EQ(run_ranks(&test.program, {},
                      [&](lf_rank &c) {
                        const int32_t world = test.program.world_comm;
                        for (int32_t i = 0; i < 300; ++i) {
                          double x = i + c.rank, y = -1;
                          lf_all_reduce(&c, "tick", &x, &y, 1, c.program->dtype, LF_MAX, world, 0);
                          ASSERT_EQ(y, i + c.world - 1);
                          if (i % 3 == 0)
                            c.comms[world]->barrier("line");
                        }
                      }),
            0);
}

// What the metrics report is the volume of a ring, by communicator and kind.
TEST_P(Collectives, Traffic) {
  TestProgram test(GetParam(), LF_F64);
  EXPECT_EQ(run_ranks(&test.program, {},
                      [&](lf_rank &c) {
                        const int32_t comm = test.program.world_comm;
                        const int64_t n = c.world, count = 6;
                        std::vector<double> x(n * count), y(n * count);
                        lf_all_gather(&c, "x", x.data(), y.data(), count, c.program->dtype, comm, 0);
                        lf_reduce_scatter(&c, "x", x.data(), y.data(), count, c.program->dtype, LF_SUM, comm, 0);
                        lf_all_reduce(&c, "x", x.data(), y.data(), count, c.program->dtype, LF_SUM, comm, 0);
                        lf_all_reduce(&c, "x", x.data(), y.data(), count, c.program->dtype, LF_SUM, comm, 0);
                        lf_all_to_all(&c, "x", x.data(), y.data(), count, c.program->dtype, comm, 0);
                        const std::vector<Traffic::Row> &rows = c.traffic->rows();
                        ASSERT_EQ(rows.size(), n > 1 ? 4u : 0u);
                        for (const Traffic::Row &row : rows) {
                          EXPECT_EQ(row.comm, "world");
                          EXPECT_EQ(row.messages, row.kind == OpKind::AllReduce ? 2 : 1);
                          EXPECT_EQ(row.bytes, row.kind == OpKind::AllReduce ? 2 * (2 * (n - 1) * count * 8 / n)
                                                                             : (n - 1) * count * 8);
                        }
                      }),
            0);
}

INSTANTIATE_TEST_SUITE_P(Meshes, Collectives, testing::ValuesIn(meshes()), [](const auto &info) {
  std::string name;
  for (int32_t size : info.param)
    name += (name.empty() ? "" : "x") + std::to_string(size);
  return name;
});
