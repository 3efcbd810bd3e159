// Scenarios.cpp - jobs that go wrong, for threads (Failures.cpp) and processes (ctest, ExpectFailure.cmake) alike.
//
// Idea: the rank at fault is named here, the tests look for its name in what the job prints.
#include "TestProgram.h"
#include "context.h"

#include <chrono>
#include <stdexcept>
#include <thread>

using namespace lf::rt;

namespace lf::test {

static void sleep_for(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

int run_scenario(const std::string &name) {
  LaunchOptions options;
  options.timeout_seconds = 0.8;
  float x[16] = {}, y[64];

  if (name == "late") { // rank 2 computes too long
    TestProgram test({2, 2});
    return run_ranks(&test.program, options, [&](lf_rank &c) {
      float z[16];
      lf_enter(&c, "decoder.bwd", 3, 1);
      lf_all_gather(&c, "warm up", x, y + 0 * c.rank, 0, c.program->dtype, 2, 0);
      if (c.rank == 2) {
        lf_enter(&c, "slow.bwd", 7, 1);
        sleep_for(2.0);
      }
      lf_all_reduce(&c, "grads", x, z, 16, c.program->dtype, LF_SUM, 2, 0);
    });
  }
  if (name == "failing") { // rank 1 throws while the others wait for it, directly or not
    TestProgram test({2, 2});
    return run_ranks(&test.program, options, [&](lf_rank &c) {
      float z[16];
      if (c.rank == 1) {
        sleep_for(0.05);
        throw Failure{4, "expected tokens below 100, got 4711"};
      }
      if (c.rank == 3)
        lf_recv(&c, "activation", z, 16, c.program->dtype, 0, 0); // from rank 1
      lf_all_reduce(&c, "grads", x, z, 16, c.program->dtype, LF_SUM, 2, 0);
    });
  }
  if (name == "mismatch") { // the ranks issue different collectives
    TestProgram test({2});
    return run_ranks(&test.program, options, [&](lf_rank &c) {
      float z[16];
      if (c.rank == 0)
        lf_all_gather(&c, "x", x, z, 4, c.program->dtype, 0, 0);
      else
        lf_all_reduce(&c, "x", x, z, 4, c.program->dtype, LF_SUM, 0, 0);
    });
  }
  if (name == "unsent") { // rank 1 sends with another tag
    TestProgram test({2});
    return run_ranks(&test.program, options, [&](lf_rank &c) {
      float z[16];
      if (c.rank == 0)
        lf_recv(&c, "activation", z, 16, c.program->dtype, 1, 3);
      else
        lf_send(&c, "activation", x, 16, c.program->dtype, 0, 4);
      sleep_for(1.2);
    });
  }
  if (name.starts_with("posted-")) { // rank 1 misuses a receive in two parts
    TestProgram test({2});
    const lf_message message{0, 1, 3, 16, LF_F32};
    test.program.messages = &message;
    test.program.num_messages = 1;
    return run_ranks(&test.program, options, [&](lf_rank &c) {
      float z[2][16];
      if (c.rank == 0) {
        lf_send(&c, "activation", x, name == "posted-other-size" ? 8 : 16, LF_F32, 1, 3);
        return lf_recv(&c, "never", z[0], 16, LF_F32, 1, 4); // keeps the rank until the other one fails
      }
      if (name != "posted-not-at-all")
        lf_post_recv(&c, "activation", z[0], 16, LF_F32, 0, 3);
      if (name == "posted-and-left")
        return lf_end_step(&c);
      if (name == "posted-and-passed")
        lf_recv(&c, "other", z[1], 16, LF_F32, 0, 3);
      lf_wait_recv(&c, "activation", z[name == "posted-elsewhere"], 16, LF_F32, 0, 3);
    });
  }
  if (name == "common") { // all ranks fail alike
    TestProgram test({2});
    return run_ranks(&test.program, options, [](lf_rank &) { throw Failure{75, "stopped by signal 15"}; });
  }
  if (name == "world") { // for a launcher of another world
    TestProgram test({6});
    return run_ranks(&test.program, options, [](lf_rank &) { throw std::logic_error("must not run"); });
  }
  throw std::invalid_argument("unknown scenario " + name);
}

} // namespace lf::test
