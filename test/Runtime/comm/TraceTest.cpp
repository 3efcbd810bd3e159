// TraceTest.cpp - the ring keeps the newest entries and can be read while it is written.
#include "trace.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

using namespace lf::rt;

TEST(Trace, KeepsTheNewest) {
  Trace trace(8);
  EXPECT_TRUE(trace.last(4).empty());
  for (int i = 1; i <= 20; ++i)
    trace.done(trace.issue({"f", 1, 2}, OpKind::AllGather, "x", "tp", i));
  std::vector<TraceEntry> entries = trace.last(100);
  ASSERT_EQ(entries.size(), 8u);
  EXPECT_EQ(entries.front().sequence, 13u);
  EXPECT_EQ(entries.back().sequence, 20u);
  EXPECT_EQ(entries.back().count, 20);
  EXPECT_STREQ(entries.back().comm, "tp");
  EXPECT_GE(entries.back().done_ns, entries.back().issued_ns);
  EXPECT_EQ(trace.last(3).front().sequence, 18u);
}

TEST(Trace, WaitingIsTheNewestCommunicationNotDone) {
  Trace trace(8);
  TraceEntry entry;
  EXPECT_FALSE(trace.waiting(entry));
  uint64_t sequence = trace.issue({"decoder.fwd", 3, 0}, OpKind::Recv, "x", "", 5, 7, 2);
  ASSERT_TRUE(trace.waiting(entry));
  EXPECT_EQ(describe(entry), "recv \"x\" from rank 7, tag 2, count 5, in decoder.fwd, layer 3, micro-batch 0");
  trace.done(sequence);
  EXPECT_FALSE(trace.waiting(entry));
  trace.issue({"decoder.bwd", 3, 0}, OpKind::Enter, "", "", 0);
  EXPECT_FALSE(trace.waiting(entry));
}

TEST(Trace, LongNamesAreCut) {
  Trace trace(2);
  std::string name(100, 'n');
  trace.issue({name.c_str(), 0, 0}, OpKind::Send, name.c_str(), nullptr, 1);
  TraceEntry entry = trace.last(1)[0];
  EXPECT_EQ(std::strlen(entry.what), sizeof entry.what - 1);
  EXPECT_EQ(std::strlen(entry.function), sizeof entry.function - 1);
}

TEST(Trace, LogKeepsAll) {
  Trace trace(2);
  trace.keep_log(true);
  for (int i = 0; i < 10; ++i)
    trace.done(trace.issue({"f", -1, -1}, OpKind::AllReduce, "x", "dp", i));
  ASSERT_EQ(trace.log().size(), 10u);
  EXPECT_EQ(trace.log()[9].count, 9);
  EXPECT_GT(trace.log()[9].done_ns, 0);
}

// An entry is whole: its fields, written together, are seen together.
TEST(Trace, ReadWhileWritten) {
  Trace trace(4);
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (int32_t i = 0; !stop; ++i)
      trace.done(trace.issue({"f", i, i}, OpKind::Send, std::to_string(i).c_str(), "", i));
  });
  int64_t seen = 0;
  for (int round = 0; round < 20000 || seen == 0; ++round)
    for (const TraceEntry &e : trace.last(4)) {
      ++seen;
      ASSERT_EQ(e.layer, e.micro_batch);
      ASSERT_EQ(e.count, e.layer);
      ASSERT_EQ(std::to_string(e.layer), e.what);
    }
  stop = true;
  writer.join();
}
