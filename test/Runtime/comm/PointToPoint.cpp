// PointToPoint.cpp - messages between pipeline neighbours keep their order and do not wait for the receiver.
//
// Idea: values carry the sender, the tag and the number of the message.
#include "TestProgram.h"
#include "context.h"

#include <gtest/gtest.h>

using namespace lf::rt;
using namespace lf::test;

namespace {
class PointToPoint : public testing::TestWithParam<std::vector<int32_t>> {};
} // namespace

// Sends to the next and the previous rank before anybody receives (this deadlocks unless sends are buffered), with two
// tags, which are received in the other order; the buffer is overwritten at once.
TEST_P(PointToPoint, BufferedInOrderPerTag) {
  TestProgram test(GetParam(), LF_F64);
  EXPECT_EQ(
      run_ranks(&test.program, {},
                [&](lf_rank &c) {
                  const int32_t size = test.axes[0].size, next = (c.pp + 1) % size, previous = (c.pp + size - 1) % size;
                  if (size == 1)
                    return;
                  for (int64_t count : {1, 20000}) {
                    std::vector<double> x(count), y(count);
                    for (int32_t message = 0; message < 3; ++message)
                      for (int32_t tag : {4, 9})
                        for (int32_t to : {next, previous}) {
                          x.assign(count, 1000 * c.rank + 10 * tag + message + (to == next ? 0.0 : 0.25));
                          lf_send(&c, "activation", x.data(), count, c.program->dtype, to, tag);
                        }
                    for (int32_t tag : {9, 4})
                      for (int32_t message = 0; message < 3; ++message) {
                        const int32_t base = 10 * tag + message;
                        auto sender = [&](int32_t pp) { return 1000.0 * group_peer(test.program, c.rank, 1, pp); };
                        std::vector<double> got;
                        lf_recv(&c, "activation", y.data(), count, c.program->dtype, previous, tag);
                        EXPECT_EQ(y, std::vector<double>(count, sender(previous) + base));
                        lf_recv(&c, "activation", y.data(), count, c.program->dtype, next, tag);
                        EXPECT_EQ(y, std::vector<double>(count, sender(next) + base + 0.25));
                      }
                  }
                  ASSERT_EQ(c.traffic->rows().size(), 1u);
                  EXPECT_EQ(c.traffic->rows()[0].messages, 24);
                  EXPECT_EQ(c.traffic->rows()[0].bytes, 12 * 8 + 12 * 20000 * 8);
                }),
      0);
}

// Receives of both tags are posted before anything is sent, two of each; messages of another size than a small one move
// while the rank does something else; each lands where its own post said.
TEST_P(PointToPoint, PostedReceivesLandInOrder) {
  TestProgram test(GetParam(), LF_F64);
  const int32_t size = test.axes[0].size;
  std::vector<lf_message> messages;
  for (int32_t from = 0; from < size && size > 1; ++from)
    for (int32_t tag : {4, 9})
      messages.push_back({from, (from + 1) % size, tag, 200000, LF_F64});
  test.program.messages = messages.data();
  test.program.num_messages = static_cast<int32_t>(messages.size());
  EXPECT_EQ(run_ranks(&test.program, {},
                      [&](lf_rank &c) {
                        const int32_t next = (c.pp + 1) % size, previous = (c.pp + size - 1) % size;
                        if (size == 1)
                          return;
                        for (int64_t count : {0, 1, 200000}) {
                          std::vector<std::vector<double>> y(4, std::vector<double>(count, -1.0));
                          for (int32_t i = 0; i < 4; ++i)
                            lf_post_recv(&c, "activation", y[i].data(), count, LF_F64, previous, i % 2 ? 9 : 4);
                          std::vector<double> x(count);
                          for (int32_t i = 0; i < 4; ++i) { // the tags in the other order
                            x.assign(count, 1000.0 * c.rank + i);
                            lf_send(&c, "activation", x.data(), count, LF_F64, next, i % 2 ? 4 : 9);
                          }
                          lf_enter(&c, "something else", -1, -1);
                          const double from = 1000.0 * group_peer(test.program, c.rank, 1, previous);
                          for (int32_t i : {1, 0, 2, 3}) {
                            lf_wait_recv(&c, "activation", y[i].data(), count, LF_F64, previous, i % 2 ? 9 : 4);
                            EXPECT_EQ(y[i], std::vector<double>(count, from + (i % 2 ? i - 1 : i + 1)));
                          }
                        }
                      }),
            0);
}

// With two ranks on the axis next and previous are one rank, so the test above would mix both streams: left out.
static std::vector<std::vector<int32_t>> rings() {
  std::vector<std::vector<int32_t>> all = meshes(), some;
  for (const std::vector<int32_t> &mesh : all)
    if (mesh[0] != 2)
      some.push_back(mesh);
  return some;
}
INSTANTIATE_TEST_SUITE_P(Meshes, PointToPoint, testing::ValuesIn(rings()));
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PointToPoint);

namespace {
class Pair : public testing::TestWithParam<std::vector<int32_t>> {};
} // namespace

// The last message of a rank arrives although its body is over; an empty message is a message.
TEST_P(Pair, LastMessageOutlivesTheSender) {
  TestProgram test(GetParam());
  EXPECT_EQ(run_ranks(&test.program, {},
                      [&](lf_rank &c) {
                        std::vector<float> x(100000, 3.0f), y(100000);
                        if (c.pp == 0) {
                          lf_send(&c, "nothing", nullptr, 0, c.program->dtype, 1, 0);
                          lf_send(&c, "loss", x.data(), 100000, c.program->dtype, 1, 0);
                        } else if (c.pp == 1) {
                          lf_recv(&c, "nothing", nullptr, 0, c.program->dtype, 0, 0);
                          lf_recv(&c, "loss", y.data(), 100000, c.program->dtype, 0, 0);
                          EXPECT_EQ(x, y);
                        }
                      }),
            0);
}
static std::vector<std::vector<int32_t>> pairs() {
  std::vector<std::vector<int32_t>> some;
  for (const std::vector<int32_t> &mesh : meshes())
    if (mesh[0] >= 2)
      some.push_back(mesh);
  return some;
}
INSTANTIATE_TEST_SUITE_P(Meshes, Pair, testing::ValuesIn(pairs()));
