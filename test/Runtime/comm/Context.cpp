// Context.cpp - a rank's place in the mesh, its groups and its arenas.
#include "context.h"
#include "TestProgram.h"

#include <gtest/gtest.h>

#include <cstdint>

using namespace lf::rt;
using namespace lf::test;

// rank = ((a * 3) + b) * 2 + c; a group over a mask is ordered by the mask's axes, major to minor.
TEST(Context, CoordinatesAndGroups) {
  TestProgram test({2, 3, 2});
  const lf_program &p = test.program;
  EXPECT_EQ(mesh_size(p), 12);
  EXPECT_EQ(mesh_coordinates(p, 9), (std::vector<int32_t>{1, 1, 1}));
  EXPECT_EQ(mesh_rank(p, {1, 1, 1}), 9);
  EXPECT_EQ(group_members(p, 9, 0b001), (std::vector<int32_t>{3, 9}));
  EXPECT_EQ(group_members(p, 9, 0b010), (std::vector<int32_t>{7, 9, 11}));
  EXPECT_EQ(group_members(p, 9, 0b101), (std::vector<int32_t>{2, 3, 8, 9}));
  EXPECT_EQ(group_members(p, 9, 0b000), (std::vector<int32_t>{9}));
  EXPECT_EQ(group_size(p, 0b110), 6);
  EXPECT_EQ(group_index(p, {1, 2, 1}, 0b110), 5);
  EXPECT_EQ(group_peer(p, 9, 0b110, 4), 10);

  lf_rank c;
  place_rank(c, p, 9);
  EXPECT_EQ(c.pp, 1);
  EXPECT_EQ(lf_coordinate(&c, 0b101), 3);
  EXPECT_EQ(lf_coordinate(&c, 0), 0);
}

TEST(Context, GroupsOfARunningRank) {
  TestProgram test({2, 2});
  EXPECT_EQ(run_ranks(&test.program, {},
                      [&](lf_rank &c) {
                        ASSERT_EQ(c.comms.size(), 3u);
                        EXPECT_EQ(c.comms[0]->members(), group_members(test.program, c.rank, 1));
                        EXPECT_EQ(c.comms[1]->rank(), c.rank % 2);
                        EXPECT_EQ(c.comms[2]->size(), 4);
                        EXPECT_STREQ(c.transport->name(), "local");
                      }),
            0);
}

TEST(Context, RefusesBrokenMeshes) {
  auto refused = [](auto change) {
    TestProgram test({2, 2});
    change(test);
    try {
      check_mesh(test.program);
    } catch (const Failure &f) {
      EXPECT_EQ(f.code, 2);
      return f.message;
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refused([](TestProgram &) {}), "accepted");
  EXPECT_EQ(refused([](TestProgram &t) { t.axes[1].size = 0; }),
            "expected the size of mesh axis \"b\" to be 1 or more, got 0");
  EXPECT_EQ(refused([](TestProgram &t) { t.comms[0].axes = 4; }),
            "expected comm \"a\" to be made of the 2 mesh axes, got the mask 4");
  EXPECT_EQ(refused([](TestProgram &t) { t.program.world_comm = 3; }),
            "expected the world's comm to be below 3, got 3");
}

// Arenas have the planned bytes of the rank's own pipeline rank, are aligned and zero; moments share "optimizer".
TEST(Context, Arenas) {
  TestProgram test({2});
  const lf_memory memory[2] = {{1000, 900, 800, 700, 600, 500, 0}, {64, 0, 128, 0, 1 << 20, 0, 0}};
  test.program.memory = memory;
  EXPECT_EQ(run_ranks(&test.program, {},
                      [&](lf_rank &c) {
                        EXPECT_EQ(arena_bytes(c), c.pp == 0 ? 1000 + 900 + 800 + 700 + 600 : 64 + 128 + (1 << 20));
                        EXPECT_EQ(c.arena_bytes[LF_MOMENT1], c.pp == 0 ? 400 : 64);
                        EXPECT_EQ(c.arena_bytes[LF_MOMENT2], c.pp == 0 ? 400 : 64);
                        for (int kind = 0; kind < 6; ++kind) {
                          const char *base = static_cast<const char *>(lf_arena(&c, static_cast<lf_arena_kind>(kind)));
                          ASSERT_NE(base, nullptr);
                          EXPECT_EQ(reinterpret_cast<uintptr_t>(base) % 64, 0u);
                          for (int64_t i = 0; i < c.arena_bytes[kind]; ++i)
                            ASSERT_EQ(base[i], 0);
                        }
                      }),
            0);
}

TEST(Context, ArenaThatDoesNotFit) {
  TestProgram test({1});
  const lf_memory memory[1] = {{int64_t(1) << 60, 0, 0, 0, 0, 0, 0}};
  test.program.memory = memory;
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_ranks(&test.program, {}, [](lf_rank &) { ADD_FAILURE() << "ran"; }), 3);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("bytes of memory for \"parameters\" of rank 0"),
            std::string::npos);
}

// bf16 sums are made in f32 and rounded once, to nearest even.
TEST(Context, Bf16Sum) {
  TestProgram test({3});
  EXPECT_EQ(run_ranks(&test.program, {},
                      [&](lf_rank &c) {
                        uint16_t x = c.rank == 0 ? 0x3f80 : 0x3b00,
                                 y = 0; // 1 + 2^-9 + 2^-9 = 1 + 2^-8, half-way: stays even
                        lf_all_reduce(&c, "x", &x, &y, 1, LF_BF16, LF_SUM, 0, 0);
                        EXPECT_EQ(y, 0x3f80);
                        x = c.rank == 0 ? 0x3f80 : c.rank == 1 ? 0x3b80 : 0x3b00; // 1 + 2^-8 + 2^-9: up, to 1 + 2^-7
                        lf_all_reduce(&c, "x", &x, &y, 1, LF_BF16, LF_SUM, 0, 0);
                        EXPECT_EQ(y, 0x3f81);
                      }),
            0);
}
