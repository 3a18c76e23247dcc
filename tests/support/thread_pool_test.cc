#include "support/thread_pool.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace lathe {
namespace {

TEST(ThreadPool, EveryMemberRunsOnce) {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    ASSERT_EQ(pool.size(), threads);
    std::vector<int> calls(static_cast<size_t>(threads));
    for (int round = 0; round < 50; ++round) {
      pool.run([&](int member) { ++calls[static_cast<size_t>(member)]; });
    }
    EXPECT_EQ(calls, std::vector<int>(static_cast<size_t>(threads), 50));
  }
}

TEST(ThreadPool, SplitCoversEveryIndexOnceInWholeGrains) {
  ThreadPool pool(3);
  for (const int64_t count : {0, 1, 7, 8, 9, 64, 1000}) {
    std::vector<std::atomic<int>> hits(static_cast<size_t>(count));
    std::atomic<bool> whole = true;
    pool.split(count, 8, [&](int64_t begin, int64_t end) {
      if (begin % 8 != 0) whole = false;
      for (int64_t i = begin; i < end; ++i) ++hits[static_cast<size_t>(i)];
    });
    EXPECT_TRUE(whole);
    for (const auto& hit : hits) EXPECT_EQ(hit, 1);
  }
}

TEST(ThreadPool, ManyPoolsAtOnceKeepTheirJobsApart) {
  constexpr int kPools = 4;
  std::vector<std::thread> callers;
  std::array<std::atomic<int64_t>, kPools> sums{};
  for (int i = 0; i < kPools; ++i) {
    callers.emplace_back([&, i] {
      ThreadPool pool(3);
      for (int round = 0; round < 2000; ++round) {
        std::array<int64_t, 3> shares{};
        pool.run([&](int member) { shares[static_cast<size_t>(member)] = round + i; });
        for (const int64_t share : shares) sums[static_cast<size_t>(i)] += share;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (int i = 0; i < kPools; ++i) {
    EXPECT_EQ(sums[static_cast<size_t>(i)], int64_t{3} * (1999 * 1000 + 2000 * i));
  }
}

TEST(ThreadPool, DefaultIsAtLeastOne) { EXPECT_GE(default_threads(), 1); }

}  // namespace
}  // namespace lathe
