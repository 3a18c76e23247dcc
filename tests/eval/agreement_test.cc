#include "eval/agreement.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

namespace lathe {
namespace {

using Row = std::vector<float>;

TEST(Agreement, OfIdenticalRowsIsInfinite) {
  AgreementMeter meter;
  meter.add(Row{1.0f, -2.0f, 0.5f}, Row{1.0f, -2.0f, 0.5f});
  meter.add(Row{0.0f, 0.0f, 0.0f}, Row{0.0f, 0.0f, 0.0f});
  const Agreement result = meter.result();
  EXPECT_EQ(result.sqnr_db, std::numeric_limits<double>::infinity());
  EXPECT_EQ(result.kl_mean, 0.0);
  EXPECT_EQ(result.kl_p99, 0.0);
  EXPECT_EQ(result.top1_agreement, 1.0);
  EXPECT_EQ(result.positions, 2);
}

TEST(Agreement, OfRowsOfZerosIsInfiniteToo) {
  AgreementMeter meter;
  meter.add(Row{0.0f, 0.0f}, Row{0.0f, 0.0f});
  EXPECT_EQ(meter.result().sqnr_db, std::numeric_limits<double>::infinity());
}

// Power 3^2 + 4^2 + 10^2 + 0^2 = 125, error power 1^2 + 0.5^2 = 1.25: a factor of 100.
TEST(Agreement, SqnrIsThatOfAllPositionsTogether) {
  AgreementMeter meter;
  meter.add(Row{3.0f, 4.0f}, Row{4.0f, 4.0f});
  meter.add(Row{10.0f, 0.0f}, Row{10.0f, 0.5f});
  EXPECT_NEAR(meter.result().sqnr_db, 20.0, 1e-12);
}

// P = (1/4, 3/4), Q = (1/2, 1/2): KL(P || Q) = 1/4 ln 1/2 + 3/4 ln 3/2.
TEST(Agreement, DivergenceByHand) {
  AgreementMeter meter;
  meter.add(Row{0.0f, std::log(3.0f)}, Row{7.0f, 7.0f});
  const double expected = 0.25 * std::log(0.5) + 0.75 * std::log(1.5);
  EXPECT_NEAR(meter.result().kl_mean, expected, 1e-7);
  EXPECT_NEAR(meter.result().kl_p99, expected, 1e-7);
}

TEST(Agreement, NinetyNinthPercentileLeavesOutOnePositionInAHundred) {
  AgreementMeter meter;
  const Row even{0.0f, 0.0f};
  meter.add(even, Row{0.0f, 50.0f});
  meter.add(even, Row{0.0f, 2.0f});
  for (int i = 0; i < 98; ++i) meter.add(even, even);
  const Agreement result = meter.result();
  const double second = std::log(std::cosh(1.0));  // of (1/2, 1/2) against logits two apart
  EXPECT_NEAR(result.kl_p99, second, 1e-9);
  EXPECT_GT(result.kl_mean, result.kl_p99 / 100.0);
}

TEST(Agreement, CountsPositionsWithTheSameLargestLogit) {
  AgreementMeter meter;
  meter.add(Row{1.0f, 2.0f, 0.0f}, Row{0.0f, 9.0f, 1.0f});
  meter.add(Row{1.0f, 2.0f, 0.0f}, Row{3.0f, 2.0f, 0.0f});
  meter.add(Row{5.0f, 5.0f, 0.0f}, Row{1.0f, 0.0f, 0.0f});  // of equals the first counts
  meter.add(Row{0.0f, 1.0f, 2.0f}, Row{0.0f, 1.0f, 2.0f});
  EXPECT_EQ(meter.result().top1_agreement, 0.75);
}

TEST(Agreement, OfNothingIsNothing) {
  const Agreement result = AgreementMeter().result();
  EXPECT_EQ(result.positions, 0);
  EXPECT_EQ(result.top1_agreement, 0.0);
}

// Rows that tell their position: [piece's first id, position in the piece].
void tell_position(std::span<const int64_t> ids, const TakeLogits& take) {
  for (size_t i = 0; i < ids.size(); ++i) {
    take(static_cast<int64_t>(i), Row{static_cast<float>(ids[0]), static_cast<float>(i)});
  }
}

TEST(Compare, TakesThePositionsThatPerplexityScores) {
  for (const auto& [tokens, context, stride] :
       {std::tuple{10, 10, 5}, std::tuple{10, 4, 2}, std::tuple{11, 4, 1}, std::tuple{9, 8, 3}}) {
    std::vector<int64_t> ids(static_cast<size_t>(tokens));
    for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int64_t>(i);
    const Agreement result = compare(ids, context, stride, tell_position, tell_position);
    EXPECT_EQ(result.positions, tokens - 1) << tokens << ", " << context << ", " << stride;
    EXPECT_EQ(result.sqnr_db, std::numeric_limits<double>::infinity());
  }
}

// Two models that differ at one place of the text, which only one window scores.
TEST(Compare, CountsAPositionInOneWindowOnly) {
  const std::vector<int64_t> ids{0, 1, 2, 3, 4, 5};
  const auto model = [](int64_t different_after) {
    return [different_after](std::span<const int64_t> piece, const TakeLogits& take) {
      for (size_t i = 0; i < piece.size(); ++i) {
        take(static_cast<int64_t>(i),
             piece[i] == different_after ? Row{1.0f, 0.0f} : Row{0.0f, 1.0f});
      }
    };
  };
  for (const int64_t different : {0, 1, 2, 3, 4}) {
    EXPECT_EQ(compare(ids, 4, 2, model(-1), model(different)).top1_agreement, 0.8) << different;
  }
  EXPECT_EQ(compare(ids, 4, 2, model(-1), model(5)).top1_agreement, 1.0)
      << "nothing comes after the last token";
}

}  // namespace
}  // namespace lathe
