#include "support/thread_pool.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
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

TEST(ThreadPool, SharedWorkIsDoneOnce) {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    for (const int64_t count : {0, 1, 7, 64, 1000}) {
      std::vector<std::atomic<int>> hits(static_cast<size_t>(count));
      const auto bound = [&](int member) { return count * member / threads; };
      pool.share(bound, 3, [&](int, SharedWork::Pieces pieces) {
        for (auto piece = pieces.next(); !piece.empty(); piece = pieces.next()) {
          for (int64_t i = piece.begin; i < piece.end; ++i) ++hits[static_cast<size_t>(i)];
        }
      });
      for (const auto& hit : hits) EXPECT_EQ(hit, 1);
    }
  }
}

TEST(SharedWork, WhoIsDoneHelpsTheOthers) {
  SharedWork work(2);
  work.begin(3);
  work.give(0, {0, 16});
  work.give(1, {16, 56});
  const auto text = [](SharedWork::Piece piece) {
    return std::to_string(piece.begin) + "-" + std::to_string(piece.end);
  };
  SharedWork::Pieces first = work.pieces_of(0);
  EXPECT_EQ(text(first.next()), "0-14");   // seven eighths of its own range
  EXPECT_EQ(text(first.next()), "14-16");  // the rest
  EXPECT_EQ(text(first.next()), "51-54");  // what the other has not begun
  SharedWork::Pieces second = work.pieces_of(1);
  EXPECT_EQ(text(second.next()), "16-51");
  EXPECT_EQ(text(second.next()), "54-56");
  EXPECT_TRUE(second.next().empty());
  EXPECT_TRUE(first.next().empty());
}

TEST(SharedWork, WhoIsAloneDoesAllAtOnce) {
  SharedWork work(1);
  work.begin(3);
  work.give(0, {0, 100});
  SharedWork::Pieces pieces = work.pieces_of(0);
  EXPECT_EQ(pieces.next().end, 100);
  EXPECT_TRUE(pieces.next().empty());
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
