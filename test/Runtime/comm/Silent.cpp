// Silent.cpp - the transport that carries nothing: returns at once, writes nothing, and still checks the calls.
#include "TestProgram.h"
#include "comm/silent/silent.h"

#include <gtest/gtest.h>

using namespace lf::rt;

namespace {

struct Silent : testing::Test {
  Trace trace;
  Where at;
  std::shared_ptr<Transport> transport = make_silent_transport(1, 4, {&trace, &at});
};

} // namespace

TEST_F(Silent, CollectivesWriteNothing) {
  std::unique_ptr<Communicator> group = transport->make_group("tp", {3, 1}), alone = transport->make_group("dp", {1});
  EXPECT_EQ(group->rank(), 1);
  float x[2] = {1, 2}, y[2] = {7, 7};
  group->all_reduce("x", x, y, 2, LF_F32, LF_SUM);
  group->all_gather("x", x, y, 1, LF_F32);
  group->broadcast("y", y, sizeof y);
  group->barrier("end");
  alone->all_reduce("x", x, y, 2, LF_F32, LF_SUM);
  EXPECT_EQ(y[0], 7);
  EXPECT_EQ(y[1], 7);
  EXPECT_THROW(group->all_reduce("x", x, y, -1, LF_F32, LF_SUM), Failure);
}

TEST_F(Silent, MessagesNeedNobody) {
  float x = 1, y = 7;
  transport->open_channel(0, 3, true, 4);
  transport->send("x", &x, 1, LF_F32, 0, 3);
  transport->recv("y", &y, 1, LF_F32, 0, 3);
  transport->post_recv("y", &y, 1, LF_F32, 0, 3);
  EXPECT_THROW(transport->check_no_posts(), Failure);
  transport->wait_recv("y", &y, 1, LF_F32, 0, 3);
  transport->check_no_posts();
  transport->poll();
  transport->leave();
  EXPECT_EQ(y, 7);
}
