// local_test.cpp - ranks as threads that share the GPUs there are: every collective and message, exact to the bit.
#include "context.h"
#include "launch.h"
#include "support.h"

#include "comm/reduce.h"

using namespace lf::test;

namespace {

/// A mesh of pp 2 x tp 2 with a group for each axis and one for all.
struct Mesh {
  Mesh() {
    program.dtype = LF_F32;
    program.axes = axes;
    program.num_axes = 2;
    program.pp = 1;
    program.tp = 2;
    program.comms = comms;
    program.num_comms = 3;
    program.world_comm = 0;
    program.memory = memory;
  }
  lf_axis axes[2] = {{"pp", 2}, {"tp", 2}};
  lf_comm comms[3] = {{"world", 3}, {"tp", 2}, {"pp", 1}};
  lf_memory memory[2] = {{0, 0, 0, 0, int64_t(1) << 24, 0, 0}, {0, 0, 0, 0, int64_t(1) << 24, 0, 0}};
  lf_program program{};
};

/// What rank r holds: a function of (seed, r, i) so that everyone can compute everyone's.
float element(int32_t r, int64_t i) { return std::sin(static_cast<float>(i * 17 + r * 1001)) * 3.0f; }

std::vector<float> contribution(int32_t r, int64_t count) {
  std::vector<float> x(at(count));
  for (int64_t i = 0; i < count; ++i)
    x[at(i)] = element(r, i);
  return x;
}

void expect_same(const std::vector<float> &want, lf_rank &c, const float *device, const char *what) {
  std::vector<float> got(want.size());
  lf::rt::copy_to_host(c, got.data(), device, static_cast<int64_t>(got.size() * 4));
  if (got != want) {
    size_t i = 0;
    while (got[i] == want[i])
      ++i;
    throw lf::rt::Failure{1, std::string(what) + ": expected " + std::to_string(want[i]) + " at " + std::to_string(i) +
                                 " of " + std::to_string(want.size()) + ", got " + std::to_string(got[i])};
  }
}

/// y of `n` members, each giving contribution(member, ...), summed or maximised in order.
std::vector<float> reduced(const std::vector<int32_t> &members, int64_t begin, int64_t count, lf_reduction op) {
  std::vector<std::vector<float>> all;
  std::vector<const void *> pointers;
  for (int32_t r : members) {
    std::vector<float> x = contribution(r, begin + count);
    all.emplace_back(x.begin() + begin, x.end());
  }
  for (auto &x : all)
    pointers.push_back(x.data());
  std::vector<float> y(at(count));
  lf::rt::reduce_in_order(pointers.data(), static_cast<int32_t>(members.size()), y.data(), count, LF_F32, op);
  return y;
}

void collectives(lf_rank &c, int64_t count, int32_t comm, int32_t stream) {
  float *x = static_cast<float *>(lf_arena(&c, LF_WORKSPACE)), *y = x + (1 << 20);
  const std::vector<int32_t> &members = c.comms[at(comm)]->members();
  const int64_t n = static_cast<int64_t>(members.size()), me = c.comms[at(comm)]->rank();
  auto fill = [&](int64_t elements) {
    std::vector<float> mine = contribution(c.rank, elements);
    lf::rt::copy_to_device(c, x, mine.data(), elements * 4);
    lf_fill(&c, "poison", y, std::nan(""), n * count);
    lf_wait(&c, stream, lf_record(&c, 0));
  };
  auto done = [&] { lf_wait(&c, 0, lf_record(&c, stream)); };
  fill(count);
  lf_all_gather(&c, "gather", x, y, count, LF_F32, comm, stream);
  done();
  std::vector<float> want;
  for (int32_t r : members)
    for (float e : contribution(r, count))
      want.push_back(e);
  expect_same(want, c, y, "all_gather");
  for (lf_reduction op : {LF_SUM, LF_MAX}) {
    fill(count);
    lf_all_reduce(&c, "reduce", x, y, count, LF_F32, op, comm, stream);
    done();
    expect_same(reduced(members, 0, count, op), c, y, "all_reduce");
    fill(count);
    lf_all_reduce(&c, "in place", x, x, count, LF_F32, op, comm, stream);
    done();
    expect_same(reduced(members, 0, count, op), c, x, "all_reduce in place");
    fill(n * count);
    lf_reduce_scatter(&c, "scatter", x, y, count, LF_F32, op, comm, stream);
    done();
    expect_same(reduced(members, me * count, count, op), c, y, "reduce_scatter");
  }
  fill(n * count);
  lf_all_to_all(&c, "exchange", x, y, count, LF_F32, comm, stream);
  done();
  want.clear();
  for (int32_t r : members) {
    std::vector<float> all = contribution(r, n * count);
    want.insert(want.end(), all.begin() + me * count, all.begin() + (me + 1) * count);
  }
  expect_same(want, c, y, "all_to_all");
}

/// Both neighbours send three messages before either receives.
void messages(lf_rank &c, int64_t count) {
  float *x = static_cast<float *>(lf_arena(&c, LF_WORKSPACE)), *y = x + (1 << 20);
  const int32_t other = 1 - c.pp, peer = c.rank ^ 2;
  for (int32_t round = 0; round < 3; ++round) {
    std::vector<float> mine = contribution(c.rank + 10 * round, count);
    lf::rt::copy_to_device(c, x, mine.data(), count * 4);
    lf_send(&c, "message", x, count, LF_F32, other, c.pp);
    lf_fill(&c, "reuse", x, -1.0, count);
  }
  for (int32_t round = 0; round < 3; ++round) {
    lf_recv(&c, "message", y, count, LF_F32, other, other);
    expect_same(contribution(peer + 10 * round, count), c, y, "recv");
  }
}

int run(const std::function<void(lf_rank &)> &body) {
  static Mesh mesh;
  lf::rt::LaunchOptions options;
  options.timeout_seconds = 60;
  return lf::rt::run_ranks(&mesh.program, options, body);
}

} // namespace

TEST(Local, CollectivesOfAllGroupsAndSizes) {
  EXPECT_EQ(run([](lf_rank &c) {
              for (int64_t count : {1, 3, 1000, 40001})
                for (int32_t comm : {0, 1, 2})
                  for (int32_t stream : {0, 1 + comm})
                    collectives(c, count, comm, stream);
            }),
            0);
}

TEST(Local, MessagesWaitForTheirReceiver) {
  EXPECT_EQ(run([](lf_rank &c) {
              for (int64_t count : {1, 50000})
                for (int repeat = 0; repeat < 3; ++repeat)
                  messages(c, count);
            }),
            0);
}

// Sums of a step and checkpoints are arrays of the host.
TEST(Local, HostArraysToo) {
  EXPECT_EQ(run([](lf_rank &c) {
              double sums[2] = {1.0 + c.rank, 2.0};
              c.comms[0]->all_reduce("sums", sums, sums, 2, LF_F64, LF_SUM);
              if (sums[0] != 10.0 || sums[1] != 8.0)
                throw lf::rt::Failure{1, "expected 10 and 8, got " + std::to_string(sums[0]) + " and " +
                                             std::to_string(sums[1])};
            }),
            0);
}

TEST(Local, AFailureStopsAllRanks) {
  EXPECT_EQ(run([](lf_rank &c) {
              if (c.rank == 2)
                throw lf::rt::Failure{4, "expected this test to fail"};
              collectives(c, 1000, 0, 0);
            }),
            4);
}

// A plan that cannot fit is refused before anything is allocated.
TEST(Local, RefusesWhatDoesNotFit) {
  Mesh mesh;
  for (lf_memory &memory : mesh.memory)
    memory.saved = int64_t(1) << 45;
  mesh.program.report = "the report of the plan";
  testing::internal::CaptureStderr();
  lf::rt::LaunchOptions options;
  const int code = lf::rt::run_ranks(&mesh.program, options, [](lf_rank &) {});
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(code, 3);
  EXPECT_NE(said.find("saved 33554432 MiB"), std::string::npos) << said;
  EXPECT_NE(said.find("the report of the plan"), std::string::npos) << said;
}
