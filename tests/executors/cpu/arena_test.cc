#include <gtest/gtest.h>

#include <random>

#include "executors/cpu/plan.h"

namespace lathe {
namespace {

Buffer buffer(int first_step, int last_step, size_t bytes,
              Buffer::Kind kind = Buffer::Kind::arena) {
  return {.kind = kind, .bytes = bytes, .first_step = first_step, .last_step = last_step};
}

TEST(Arena, BuffersThatDoNotMeetShareMemory) {
  std::vector<Buffer> buffers{buffer(0, 1, 100), buffer(2, 3, 100)};
  EXPECT_EQ(plan_arena(buffers), 128u);
  EXPECT_EQ(buffers[0].offset, buffers[1].offset);
}

TEST(Arena, AStepReadsOneBufferAndWritesAnother) {
  std::vector<Buffer> buffers{buffer(0, 1, 64), buffer(1, 2, 64)};
  EXPECT_EQ(plan_arena(buffers), 128u);
  EXPECT_NE(buffers[0].offset, buffers[1].offset);
}

TEST(Arena, AChainNeedsTwoNeighboursOnly) {
  std::vector<Buffer> buffers;
  for (int step = 0; step < 20; ++step) buffers.push_back(buffer(step, step + 1, 640));
  EXPECT_EQ(plan_arena(buffers), 1280u);
}

TEST(Arena, OnlyArenaAndScratchAreInIt) {
  std::vector<Buffer> buffers{
      buffer(0, 5, 1000, Buffer::Kind::input), buffer(0, 5, 1000, Buffer::Kind::output),
      buffer(0, 5, 1000, Buffer::Kind::constant), buffer(2, 2, 1000, Buffer::Kind::scratch)};
  EXPECT_EQ(plan_arena(buffers), 1024u);
}

TEST(Arena, WhatNoStepUsesNeedsNoMemory) {
  std::vector<Buffer> buffers{buffer(0, 1, 64), buffer(-1, -1, 1000)};
  EXPECT_EQ(plan_arena(buffers), 64u);
}

TEST(Arena, NothingIsEmpty) {
  std::vector<Buffer> none;
  EXPECT_EQ(plan_arena(none), 0u);
  std::vector<Buffer> empty{buffer(0, 3, 0), buffer(1, 2, 0)};
  EXPECT_EQ(plan_arena(empty), 0u);
}

TEST(Arena, NoTwoBuffersThatLiveAtOneTimeOverlap) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<Buffer> buffers(1 + random() % 40);
    size_t sum = 0;
    for (Buffer& b : buffers) {
      const int first = static_cast<int>(random() % 30);
      const int length = static_cast<int>(random() % (random() % 4 == 0 ? 30 : 4));
      b = buffer(first, first + length, random() % 10 == 0 ? 0 : random() % 3000);
      sum += (b.bytes + 63) / 64 * 64;
    }
    const size_t total = plan_arena(buffers);
    EXPECT_LE(total, sum);
    for (size_t i = 0; i < buffers.size(); ++i) {
      const Buffer& a = buffers[i];
      EXPECT_EQ(a.offset % 64, 0u);
      EXPECT_LE(a.offset + a.bytes, total);
      for (size_t j = 0; j < i; ++j) {
        const Buffer& b = buffers[j];
        const bool meet = a.first_step <= b.last_step && b.first_step <= a.last_step;
        const bool apart = a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset;
        EXPECT_TRUE(!meet || apart) << round;
      }
    }
  }
}

}  // namespace
}  // namespace lathe
