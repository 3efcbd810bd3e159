//===- VerifyScheduleTest.cpp - Broken schedules are caught ---------------===//
//
// Mutates right schedules one place at a time: every drop, every duplicate, every swap that changes what is computed or
// which message is met, every part of a receive. Then one message of each rule, word by word.
//
//===----------------------------------------------------------------------===//
#include "lf/Schedule/VerifySchedule.h"
#include "lf/Schedule/Algorithms.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace lf;

namespace {

std::vector<PipelineSchedule> schedules() {
  return {buildSchedule(ScheduleKind::gpipe, {3, 2, 4}),
          buildSchedule(ScheduleKind::oneForwardOneBackward, {4, 1, 6}),
          buildSchedule(ScheduleKind::interleaved, {3, 2, 6}),
          buildSchedule(ScheduleKind::interleaved, {2, 2, 5, 3}),
          buildSchedule(ScheduleKind::zeroBubbleH1, {4, 1, 6}),
          buildSchedule(ScheduleKind::zeroBubbleV, {3, 2, 6})};
}

/// Runs `mutate(rank, i)` on a fresh copy for every place; it returns false where it does not apply.
template <typename List, typename Mutate, typename Caught>
int everywhere(const std::vector<List> &right, Mutate mutate, Caught caught) {
  int tried = 0;
  for (size_t rank = 0; rank < right.size(); ++rank)
    for (size_t i = 0; i < right[rank].size(); ++i) {
      std::vector<List> wrong = right;
      if (!mutate(wrong[rank], i))
        continue;
      ++tried;
      EXPECT_TRUE(caught(wrong)) << "rank " << rank << " place " << i;
    }
  return tried;
}

std::string firstFault(const SchedulingProblem &problem, const Programs &programs) {
  Verification verification = verifySchedule(problem, programs);
  return verification.ok() ? "right" : verification.faults.front().message;
}

} // namespace

TEST(VerifySchedule, everyMutationOfAnActionIsCaught) {
  for (const PipelineSchedule &s : schedules()) {
    SCOPED_TRACE(scheduleName(s.kind));
    auto caught = [&](const Programs &programs) { return !verifySchedule(s.problem, programs, s.buffers).ok(); };
    ASSERT_FALSE(caught(s.programs));
    auto drop = [](Program &program, size_t i) {
      program.erase(program.begin() + i);
      return true;
    };
    auto duplicate = [](Program &program, size_t i) {
      program.insert(program.begin() + i, program[i]);
      return true;
    };
    auto swapNext = [](Program &program, size_t i) { // the next micro-batch of the same pass and chunk
      for (size_t j = i + 1; j < program.size(); ++j)
        if (program[j].pass == program[i].pass && program[j].chunk == program[i].chunk) {
          std::swap(program[i], program[j]);
          return true;
        }
      return false;
    };
    auto swapPasses = [](Program &program, size_t i) { // the next pass of the same micro-batch and chunk
      for (size_t j = i + 1; j < program.size(); ++j)
        if (program[j].microBatch == program[i].microBatch && program[j].chunk == program[i].chunk) {
          std::swap(program[i], program[j]);
          return true;
        }
      return false;
    };
    auto otherChunk = [&](Program &program, size_t i) {
      program[i].chunk = program[i].chunk + 1;
      return true;
    };
    EXPECT_GT(everywhere(s.programs, drop, caught), 0);
    EXPECT_GT(everywhere(s.programs, duplicate, caught), 0);
    EXPECT_GT(everywhere(s.programs, swapNext, caught), 0);
    EXPECT_GT(everywhere(s.programs, swapPasses, caught), 0);
    EXPECT_GT(everywhere(s.programs, otherChunk, caught), 0);
  }
}

TEST(VerifySchedule, everyMutationOfAMessageIsCaught) {
  for (const PipelineSchedule &s : schedules()) {
    SCOPED_TRACE(scheduleName(s.kind));
    auto caught = [&](const EventPrograms &programs) { return !verifyMessages(programs, s.buffers).empty(); };
    EventPrograms right = insertMessages(s.problem, s.programs);
    ASSERT_FALSE(caught(right));
    using Events = std::vector<Event>;
    auto isMessage = [](const Event &event) { return event.kind != EventKind::run; };
    auto drop = [&](Events &events, size_t i) {
      bool applies = isMessage(events[i]);
      events.erase(events.begin() + i);
      return applies;
    };
    auto duplicate = [&](Events &events, size_t i) {
      bool applies = isMessage(events[i]);
      events.insert(events.begin() + i, Event(events[i]));
      return applies;
    };
    auto swapNext = [&](Events &events, size_t i) { // two messages of one channel
      for (size_t j = i + 1; j < events.size() && isMessage(events[i]); ++j)
        if (events[j].kind == events[i].kind && events[j].peer == events[i].peer && events[j].tag == events[i].tag) {
          std::swap(events[i], events[j]);
          return true;
        }
      return false;
    };
    auto redirect = [&](Events &events, size_t i) {
      events[i].tag += 2;
      return isMessage(events[i]);
    };
    auto toSelf = [&](Events &events, size_t i) {
      events[i].peer = static_cast<int64_t>(right.size());
      return isMessage(events[i]);
    };
    EXPECT_GT(everywhere(right, drop, caught), 0);
    EXPECT_GT(everywhere(right, duplicate, caught), 0);
    EXPECT_GT(everywhere(right, swapNext, caught), 0);
    EXPECT_GT(everywhere(right, redirect, caught), 0);
    EXPECT_GT(everywhere(right, toSelf, caught), 0);
  }
}

// With receives in two parts: a post that is lost, made twice, late, too late by a whole program, or in another's place.
TEST(VerifySchedule, everyMutationOfAPostIsCaught) {
  for (const PipelineSchedule &s : schedules()) {
    SCOPED_TRACE(scheduleName(s.kind));
    auto caught = [&](const EventPrograms &programs) { return !verifyMessages(programs, s.buffers).empty(); };
    EventPrograms right = insertMessages(s.problem, s.programs, Receives::ahead);
    ASSERT_FALSE(caught(right));
    using Events = std::vector<Event>;
    auto isHalf = [](const Event &event) { return event.kind == EventKind::post || event.kind == EventKind::wait; };
    auto drop = [&](Events &events, size_t i) {
      bool applies = isHalf(events[i]);
      events.erase(events.begin() + i);
      return applies;
    };
    auto duplicate = [&](Events &events, size_t i) {
      bool applies = isHalf(events[i]);
      events.insert(events.begin() + i, Event(events[i]));
      return applies;
    };
    auto afterItsWait = [&](Events &events, size_t i) {
      if (events[i].kind != EventKind::post)
        return false;
      for (size_t j = i + 1; j < events.size(); ++j)
        if (events[j].kind == EventKind::wait && events[j].action == events[i].action) {
          std::rotate(events.begin() + i, events.begin() + i + 1, events.begin() + j + 1);
          return true;
        }
      return false;
    };
    auto atTheEnd = [&](Events &events, size_t i) {
      bool applies = events[i].kind == EventKind::post;
      std::rotate(events.begin() + i, events.begin() + i + 1, events.end());
      return applies;
    };
    auto inOnePart = [&](Events &events, size_t i) { // the wait forgets that it was posted
      bool applies = events[i].kind == EventKind::wait;
      events[i].kind = EventKind::receive;
      return applies;
    };
    auto ofAnother = [&](Events &events, size_t i) {
      events[i].action.microBatch += 1;
      return isHalf(events[i]);
    };
    EXPECT_GT(everywhere(right, drop, caught), 0);
    EXPECT_GT(everywhere(right, duplicate, caught), 0);
    EXPECT_GT(everywhere(right, afterItsWait, caught), 0);
    EXPECT_GT(everywhere(right, atTheEnd, caught), 0);
    EXPECT_GT(everywhere(right, inOnePart, caught), 0);
    EXPECT_GT(everywhere(right, ofAnother, caught), 0);
  }
}

// Posts stand one action ahead, the first action's at the beginning; there is none where no message is needed.
TEST(VerifySchedule, postsStandOneActionAhead) {
  PipelineSchedule s = buildSchedule(ScheduleKind::oneForwardOneBackward, {2, 1, 2}); // rank 1: F0 B0 F1 B1
  std::string text;
  EventPrograms events = insertMessages(s.problem, s.programs, Receives::ahead);
  for (const Event &event : events[1])
    text += describe(event) + "\n";
  EXPECT_EQ(text, "post of the receive for F mb 0 chunk 0 from rank 0\n"
                  "posted receive for F mb 0 chunk 0 from rank 0\n"
                  "F mb 0 chunk 0\n"
                  "post of the receive for F mb 1 chunk 0 from rank 0\n"
                  "B mb 0 chunk 0\n"
                  "send of B mb 0 chunk 0 to rank 0\n"
                  "posted receive for F mb 1 chunk 0 from rank 0\n"
                  "F mb 1 chunk 0\n"
                  "B mb 1 chunk 0\n"
                  "send of B mb 1 chunk 0 to rank 0\n");
  EXPECT_EQ(buildSchedule(ScheduleKind::interleaved, {2, 2, 4}).receives, Receives::ahead);
  EXPECT_EQ(buildSchedule(ScheduleKind::interleaved, {3, 2, 3, 0, false, false}).receives, Receives::atUse);
  EXPECT_EQ(s.receives, Receives::atUse); // one chunk
}

TEST(VerifySchedule, postsAreNamed) {
  Action f{Pass::F, 0, 0};
  EventPrograms right = {{{EventKind::run, f, -1, -1}, {EventKind::send, f, 1, 2}},
                         {{EventKind::post, f, 0, 2}, {EventKind::wait, f, 0, 2}, {EventKind::run, f, -1, -1}}};
  EXPECT_TRUE(verifyMessages(right).empty());
  EventPrograms wrong = right;
  std::swap(wrong[1][0], wrong[1][1]);
  EXPECT_EQ(verifyMessages(wrong).at(0).message,
            "rank 1, action 0 (event 0): posted receive for F mb 0 chunk 0 from rank 0: expected its post to be the oldest "
            "open one of tag 2, got none");
  wrong = right;
  wrong[1][1].kind = EventKind::receive;
  EXPECT_EQ(verifyMessages(wrong).at(0).message,
            "rank 1, action 0 (event 1): receive for F mb 0 chunk 0 from rank 0: expected no posted receive of tag 2 to be "
            "open, got that of mb 0 (event 0)");
  wrong = right;
  wrong[1].insert(wrong[1].begin(), Event(wrong[1].front()));
  ASSERT_EQ(verifyMessages(wrong).size(), 1u);
  EXPECT_EQ(verifyMessages(wrong)[0].rule, "S7");
  EXPECT_EQ(verifyMessages(wrong)[0].message,
            "rank 1, action 0 (event 1): post of the receive for F mb 0 chunk 0 from rank 0: expected it to be waited for, "
            "got the end of the program");
}

TEST(VerifySchedule, messagesNameRankAndAction) {
  PipelineSchedule s = buildSchedule(ScheduleKind::oneForwardOneBackward, {2, 1, 2});
  Programs programs = s.programs; // rank 0: F0 F1 B0 B1, rank 1: F0 B0 F1 B1
  programs[1].pop_back();
  EXPECT_EQ(firstFault(s.problem, programs), "rank 1: expected B mb 1 chunk 0 to run once, got no such action");
  programs = s.programs;
  programs[0].push_back({Pass::B, 1, 0});
  EXPECT_EQ(firstFault(s.problem, programs),
            "rank 0, action 4: expected B mb 1 chunk 0 to run once, got it at action 3 too");
  programs = s.programs;
  programs[0].push_back({Pass::W, 0, 0});
  EXPECT_EQ(firstFault(s.problem, programs),
            "rank 0, action 4: expected pass F or B, a micro-batch below 2 and a chunk below 1, "
            "got W mb 0 chunk 0");
  programs = s.programs;
  std::swap(programs[1][0], programs[1][1]);
  EXPECT_EQ(firstFault(s.problem, programs), "rank 1, action 0: expected F mb 0 chunk 0 before B mb 0 chunk 0");
  programs = s.programs;
  std::swap(programs[0][0], programs[0][1]);
  EXPECT_EQ(firstFault(s.problem, programs),
            "rank 0, action 1: expected micro-batches of one pass and chunk to ascend, got F mb 0 "
            "chunk 0 after mb 1");
  programs.pop_back();
  EXPECT_EQ(firstFault(s.problem, programs), "expected 2 programs, one a rank, got 1");
}

TEST(VerifySchedule, localNeighboursKeepTheirOrder) {
  PipelineSchedule s = buildSchedule(ScheduleKind::zeroBubbleV, {2, 2, 1});
  Programs programs = s.programs; // on rank 1, stage 1 feeds stage 2
  ASSERT_EQ(programs[1][1], (Action{Pass::F, 0, 1}));
  std::swap(programs[1][0], programs[1][1]);
  EXPECT_EQ(firstFault(s.problem, programs),
            "rank 1, action 0: expected F mb 0 chunk 0, whose result stays on this rank, before F mb 0 chunk 1");
}

TEST(VerifySchedule, cyclicWaitIsNamedWholly) {
  // rank 1 wants the second forward before it gives the first gradient, rank 0 the reverse
  SchedulingProblem problem;
  problem.ranks = 2;
  problem.microBatches = 2;
  Action f0{Pass::F, 0, 0}, f1{Pass::F, 1, 0}, b0{Pass::B, 0, 0}, b1{Pass::B, 1, 0};
  Programs programs = {{f0, b0, f1, b1}, {f0, f1, b0, b1}};
  Verification got = verifySchedule(problem, programs);
  ASSERT_EQ(got.faults.size(), 1u);
  EXPECT_EQ(got.faults[0].rule, "S6");
  EXPECT_EQ(got.faults[0].index, 1);
  EXPECT_EQ(got.faults[0].message,
            "rank 0, action 1 (event 2): cyclic wait (buffers a channel: 1): rank 0 event 2 (receive for B mb 0 "
            "chunk 0 from "
            "rank 1) waits for rank 1 event 2 (receive for F mb 1 chunk 0 from rank 0) waits for rank 0");
  EXPECT_EQ(buffersNeeded(problem, programs), 0); // no buffer helps
}

TEST(VerifySchedule, buffersAreCounted) {
  // rank 0 sends three forwards before it takes a gradient; rank 1 returns one gradient a forward: with k buffers rank
  // 0 may be k sends ahead, and rank 1 k gradients
  SchedulingProblem problem;
  problem.ranks = 3;
  problem.microBatches = 6;
  PipelineSchedule s = buildSchedule(ScheduleKind::gpipe, {3, 1, 6});
  Programs programs = s.programs;
  programs[2].clear(); // the last rank alternates; the others run all forwards first
  for (int64_t mb = 0; mb < 6; ++mb) {
    programs[2].push_back({Pass::F, mb, 0});
    programs[2].push_back({Pass::B, mb, 0});
  }
  EXPECT_FALSE(verifySchedule(problem, programs, 1).ok());
  int64_t needed = buffersNeeded(problem, programs);
  EXPECT_EQ(needed, 3); // 6 gradients: k wait in the channel, 1 in the send, and k + 1 forwards behind them
  EXPECT_TRUE(verifySchedule(problem, programs, needed).ok());
  EXPECT_FALSE(verifySchedule(problem, programs, needed - 1).ok());
}

TEST(VerifySchedule, slotsOfEachChunk) {
  PipelineSchedule s = buildSchedule(ScheduleKind::gpipe, {2, 2, 3});
  EXPECT_EQ(verifySchedule(s.problem, s.programs).peakLiveOfChunk, (std::vector<std::vector<int64_t>>{{3, 3}, {3, 3}}));
}
