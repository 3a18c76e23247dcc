#include "eval/perplexity.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "support/expect_error.h"

namespace lathe {

bool operator==(const Window& a, const Window& b) {
  return a.begin == b.begin && a.end == b.end && a.first_scored == b.first_scored;
}

std::ostream& operator<<(std::ostream& out, const Window& window) {
  return out << '[' << window.begin << ", " << window.end << ") from " << window.first_scored;
}

namespace {

std::vector<Window> windows(int64_t tokens, int64_t context, int64_t stride) {
  std::vector<Window> found;
  for_windows(tokens, context, stride, [&](const Window& window) { found.push_back(window); });
  return found;
}

// The windows of tests/data/smollm2/golden.json: 4,161 tokens.
TEST(Windows, AreThoseOfTheGoldenPerplexity) {
  EXPECT_EQ(windows(4161, 1024, 512), (std::vector<Window>{{0, 1024, 1},
                                                           {512, 1536, 1024},
                                                           {1024, 2048, 1536},
                                                           {1536, 2560, 2048},
                                                           {2048, 3072, 2560},
                                                           {2560, 3584, 3072},
                                                           {3072, 4096, 3584},
                                                           {3584, 4161, 4096}}));
}

TEST(Windows, TheLastIsTheFirstThatReachesTheEnd) {
  EXPECT_EQ(windows(7, 8, 4), (std::vector<Window>{{0, 7, 1}}));
  EXPECT_EQ(windows(8, 8, 4), (std::vector<Window>{{0, 8, 1}}));
  EXPECT_EQ(windows(9, 8, 4), (std::vector<Window>{{0, 8, 1}, {4, 9, 8}}));
}

TEST(Windows, ScoreEveryTokenButTheFirstOnce) {
  for (const int64_t tokens : {2, 3, 7, 8, 9, 16, 31, 100}) {
    for (const int64_t context : {2, 3, 8, 100}) {
      for (int64_t stride = 1; stride < context; ++stride) {
        std::vector<int> times(static_cast<size_t>(tokens), 0);
        for (const Window& window : windows(tokens, context, stride)) {
          EXPECT_LE(window.end - window.begin, context);
          EXPECT_GT(window.first_scored, window.begin) << "something must stand before it";
          for (int64_t i = window.first_scored; i < window.end; ++i) {
            ++times[static_cast<size_t>(i)];
          }
        }
        std::vector<int> expected(static_cast<size_t>(tokens), 1);
        expected[0] = 0;
        EXPECT_EQ(times, expected) << tokens << " tokens, " << context << ", " << stride;
      }
    }
  }
}

// Windows that do not overlap have a first token each with nothing before it.
TEST(Windows, WithoutOverlapLeaveOutTheFirstTokenOfEach) {
  EXPECT_EQ(windows(10, 4, 4), (std::vector<Window>{{0, 4, 1}, {4, 8, 5}, {8, 10, 9}}));
}

// softmax of ln 1, ln 2, ln 5 is 1/8, 2/8, 5/8.
TEST(NegativeLogLikelihood, ByHand) {
  const std::vector<float> row{std::log(1.0f), std::log(2.0f), std::log(5.0f)};
  EXPECT_NEAR(log_sum_exp(row), std::log(8.0), 1e-6);
  EXPECT_NEAR(negative_log_likelihood(row, 0), std::log(8.0), 1e-6);
  EXPECT_NEAR(negative_log_likelihood(row, 1), std::log(4.0), 1e-6);
  EXPECT_NEAR(negative_log_likelihood(row, 2), std::log(1.6), 1e-6);
}

TEST(NegativeLogLikelihood, OfLargeLogitsDoesNotOverflow) {
  EXPECT_NEAR(negative_log_likelihood(std::vector<float>{1e4f, 1e4f}, 1), std::log(2.0), 1e-9);
  EXPECT_NEAR(negative_log_likelihood(std::vector<float>{-1e4f, -1e4f}, 1), std::log(2.0), 1e-9);
  EXPECT_EQ(negative_log_likelihood(std::vector<float>{1000.0f, 0.0f}, 1), 1000.0);
}

/// Gives the token after the last a probability of 3/4 where it is one more, modulo 2.
void alternating_model(std::span<const int64_t> ids, const TakeLogits& take) {
  for (size_t i = 0; i < ids.size(); ++i) {
    std::vector<float> row{0.0f, 0.0f};
    row[static_cast<size_t>(1 - ids[i])] = std::log(3.0f);
    take(static_cast<int64_t>(i), row);
  }
}

// 0 1 0 1 1: three tokens at 3/4, one at 1/4, so exp(-(3 ln 3/4 + ln 1/4) / 4).
TEST(Perplexity, ByHandInOneWindowAndInMany) {
  const std::vector<int64_t> ids{0, 1, 0, 1, 1};
  const double expected = std::pow(0.75 * 0.75 * 0.75 * 0.25, -0.25);
  for (const auto& [context, stride] :
       {std::pair{5, 3}, std::pair{100, 1}, std::pair{2, 1}, std::pair{3, 2}, std::pair{4, 3}}) {
    const Perplexity found = perplexity(ids, context, stride, alternating_model);
    EXPECT_NEAR(found.perplexity, expected, 1e-6) << context << ", " << stride;
    EXPECT_EQ(found.tokens, 4);
  }
}

TEST(Perplexity, OfAModelThatKnowsNothingIsTheVocabulary) {
  const std::vector<int64_t> ids{4, 2, 0, 1};
  const auto run = [](std::span<const int64_t> piece, const TakeLogits& take) {
    const std::vector<float> row(5, 1.0f);
    for (size_t i = 0; i < piece.size(); ++i) take(static_cast<int64_t>(i), row);
  };
  EXPECT_NEAR(perplexity(ids, 3, 1, run).perplexity, 5.0, 1e-12);
}

TEST(Perplexity, RefusesWhatCannotBeMeasured) {
  const std::vector<int64_t> ids{0, 1, 0};
  const auto measure = [&](size_t tokens, int64_t context, int64_t stride) {
    return [&ids, tokens, context, stride] {
      perplexity(std::span(ids).first(tokens), context, stride, alternating_model);
    };
  };
  testing::expect_error(measure(0, 4, 2), {"too short", "found 0"});
  testing::expect_error(measure(1, 4, 2), {"too short", "found 1"});
  testing::expect_error(measure(3, 1, 1), {"windows", "context 1"});
  testing::expect_error(measure(3, 4, 0), {"windows", "stride 0"});
  testing::expect_error(measure(3, 4, 5), {"windows", "stride 5"});
}

}  // namespace
}  // namespace lathe
