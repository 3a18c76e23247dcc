#include "support/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
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

TEST(ThreadPool, DefaultIsAtLeastOne) { EXPECT_GE(default_threads(), 1); }

}  // namespace
}  // namespace lathe
