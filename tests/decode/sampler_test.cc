#include "decode/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "decode/portable_exp.h"
#include "support/error.h"

namespace lathe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

LogitsRow row_of(const std::vector<float>& values) {
  return {{}, reinterpret_cast<const std::byte*>(values.data()), std::ssize(values)};
}

std::vector<float> logs(const std::vector<double>& probabilities) {
  std::vector<float> out;
  for (const double p : probabilities) out.push_back(static_cast<float>(std::log(p)));
  return out;
}

std::vector<int64_t> draws(const SamplerOptions& options, const std::vector<float>& logits,
                           int count) {
  Sampler sampler(options, std::ssize(logits));
  std::vector<int64_t> ids;
  for (int i = 0; i < count; ++i) ids.push_back(sampler.sample(row_of(logits)));
  return ids;
}

/// The ids that are ever drawn: 2000 draws miss one of probability 0.05 once in 10^44 seeds.
std::set<int64_t> drawn_set(SamplerOptions options, const std::vector<float>& logits) {
  if (options.temperature == 0.0f) options.temperature = 1.0f;
  const auto ids = draws(options, logits, 2000);
  return {ids.begin(), ids.end()};
}

/// Expects every id as often as its probability says, within four standard deviations.
void expect_frequencies(const SamplerOptions& options, const std::vector<float>& logits,
                        const std::vector<double>& probabilities) {
  constexpr int kDraws = 100000;
  std::vector<int> counts(logits.size());
  for (const int64_t id : draws(options, logits, kDraws)) ++counts[static_cast<size_t>(id)];
  for (size_t id = 0; id < logits.size(); ++id) {
    const double p = probabilities[id];
    EXPECT_NEAR(counts[id], kDraws * p, 4.0 * std::sqrt(kDraws * p * (1.0 - p)) + 1e-9) << id;
  }
}

const std::vector<double> kProbabilities{0.15, 0.5, 0.1, 0.25};

TEST(PortableExp, AgreesWithTheLibrary) {
  EXPECT_EQ(portable_exp(0.0), 1.0);
  for (double x = -699.0; x < 0.0; x += 0.0137) {
    EXPECT_NEAR(portable_exp(x) / std::exp(x), 1.0, 1e-15) << x;
  }
  EXPECT_GT(portable_exp(-1e300), 0.0);
  EXPECT_LT(portable_exp(-1e300), 1e-300);
}

TEST(Sampler, TemperatureZeroTakesTheLargestOfTheLowestId) {
  for (const float temperature : {0.0f, -1.0f}) {
    EXPECT_THAT(draws({.temperature = temperature}, {1.0f, 3.0f, 3.0f}, 2), ElementsAre(1, 1));
  }
}

TEST(Sampler, DrawsByProbability) {
  expect_frequencies({.temperature = 1.0f, .seed = 1}, logs(kProbabilities), kProbabilities);
}

// At temperature 2 probabilities are in proportion to their square roots.
TEST(Sampler, TemperatureFlattens) {
  const double sum = std::sqrt(0.15) + std::sqrt(0.5) + std::sqrt(0.1) + std::sqrt(0.25);
  expect_frequencies(
      {.temperature = 2.0f, .seed = 2}, logs(kProbabilities),
      {std::sqrt(0.15) / sum, std::sqrt(0.5) / sum, std::sqrt(0.1) / sum, std::sqrt(0.25) / sum});
}

TEST(Sampler, WhatIsKeptSharesTheWholeProbability) {
  expect_frequencies({.temperature = 1.0f, .top_k = 2, .seed = 3}, logs(kProbabilities),
                     {0.0, 2.0 / 3, 0.0, 1.0 / 3});
  expect_frequencies({.temperature = 1.0f, .top_p = 0.8f, .seed = 4}, logs(kProbabilities),
                     {0.15 / 0.9, 0.5 / 0.9, 0.0, 0.25 / 0.9});
  expect_frequencies({.temperature = 1.0f, .min_p = 0.4f, .seed = 5}, logs(kProbabilities),
                     {0.0, 2.0 / 3, 0.0, 1.0 / 3});
}

// Codes 1000 apart at 0.001 a step: a real difference of 1, so odds of e to 1.
TEST(Sampler, TemperatureWorksOnRealValuesNotOnCodes) {
  const std::vector<uint16_t> codes{20000, 21000};
  const LogitsRow row{
      {DType::u16, 0.001f, 32768}, reinterpret_cast<const std::byte*>(codes.data()), 2};
  Sampler sampler({.temperature = 1.0f, .seed = 6}, 2);
  int second = 0;
  for (int i = 0; i < 100000; ++i) second += static_cast<int>(sampler.sample(row));
  const double p = std::exp(1.0) / (1.0 + std::exp(1.0));
  EXPECT_NEAR(second, 100000 * p, 4.0 * std::sqrt(100000 * p * (1.0 - p)));
}

TEST(Sampler, TopKKeepsTheLargest) {
  const auto logits = logs(kProbabilities);
  EXPECT_THAT(drawn_set({.top_k = 1}, logits), ElementsAre(1));
  EXPECT_THAT(drawn_set({.top_k = 3}, logits), ElementsAre(0, 1, 3));
  EXPECT_THAT(drawn_set({.top_k = 0}, logits), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(drawn_set({.top_k = 1000}, logits), ElementsAre(0, 1, 2, 3));
  // Of equal logits, those with the lowest ids.
  EXPECT_THAT(drawn_set({.top_k = 2}, {0.0f, 1.0f, 1.0f, 1.0f}), ElementsAre(1, 2));
}

TEST(Sampler, TopPKeepsTheFewestThatReachIt) {
  const auto logits = logs(kProbabilities);
  EXPECT_THAT(drawn_set({.top_p = 0.001f}, logits), ElementsAre(1));
  EXPECT_THAT(drawn_set({.top_p = 0.49f}, logits), ElementsAre(1));
  EXPECT_THAT(drawn_set({.top_p = 0.51f}, logits), ElementsAre(1, 3));
  EXPECT_THAT(drawn_set({.top_p = 0.76f}, logits), ElementsAre(0, 1, 3));
  EXPECT_THAT(drawn_set({.top_p = 0.91f}, logits), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(drawn_set({.top_p = 1.0f}, logits), ElementsAre(0, 1, 2, 3));
}

TEST(Sampler, MinPKeepsAShareOfTheLargest) {
  const auto logits = logs(kProbabilities);
  EXPECT_THAT(drawn_set({.min_p = 0.19f}, logits), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(drawn_set({.min_p = 0.29f}, logits), ElementsAre(0, 1, 3));
  EXPECT_THAT(drawn_set({.min_p = 0.31f}, logits), ElementsAre(1, 3));
  EXPECT_THAT(drawn_set({.min_p = 1.0f}, logits), ElementsAre(1));
}

TEST(Sampler, StepsComeInTheOrderOfTransformers) {
  const auto logits = logs(kProbabilities);
  // Top-k first: of the two kept the first has 2/3, which reaches 0.6; of all four it has 1/2.
  EXPECT_THAT(drawn_set({.top_k = 2, .top_p = 0.6f}, logits), ElementsAre(1));
  EXPECT_THAT(drawn_set({.top_p = 0.6f}, logits), ElementsAre(1, 3));
  // Top-p before min-p: the other way round, the first of the two kept would reach 0.6 alone.
  EXPECT_THAT(drawn_set({.top_p = 0.6f, .min_p = 0.31f}, logits), ElementsAre(1, 3));
  // Temperature before top-p and min-p: at 4 the shares are flatter and more is kept.
  EXPECT_THAT(drawn_set({.temperature = 4.0f, .top_p = 0.6f}, logits), ElementsAre(0, 1, 3));
  EXPECT_THAT(drawn_set({.temperature = 4.0f, .min_p = 0.7f}, logits), ElementsAre(0, 1, 3));
}

// transformers' rule: 3 / 2 and -1 * 2, once for each id however often it came.
TEST(Sampler, RepetitionPenaltyDividesPositiveAndMultipliesNegative) {
  const SamplerOptions options{.repeat_penalty = 2.0f};
  Sampler sampler(options, 3);
  const std::vector<float> positive{3.0f, 1.6f, 1.4f};
  EXPECT_EQ(sampler.sample(row_of(positive)), 0);
  sampler.see(0);
  EXPECT_EQ(sampler.sample(row_of(positive)), 1);
  sampler.see(0);
  sampler.see(1);
  EXPECT_EQ(sampler.sample(row_of(positive)), 0);  // 1.5, 0.8, 1.4

  const std::vector<float> negative{-1.0f, -1.9f, -1.95f};
  sampler.see_only(std::vector<int64_t>{0});
  EXPECT_EQ(sampler.sample(row_of(negative)), 1);  // -2, -1.9, -1.95
  sampler.see_only({});
  EXPECT_EQ(sampler.sample(row_of(negative)), 0);
}

TEST(Sampler, PenaltyComesBeforeTheDraw) {
  Sampler sampler({.repeat_penalty = 2.0f, .temperature = 1.0f, .top_k = 1}, 2);
  sampler.see(0);
  EXPECT_EQ(sampler.sample(row_of({3.0f, 2.0f})), 1);
}

// The expected ids come from a version of the same formulas in Python (64-bit integers by hand,
// math.exp): a seed gives these on every machine.
TEST(Sampler, ASeedGivesTheSameIdsEverywhere) {
  const std::vector<float> logits{0.5f, 2.0f, -1.0f, 1.0f, 1.5f, 0.0f, -2.0f, 1.75f};
  EXPECT_THAT(draws({.temperature = 1.0f, .seed = 42}, logits, 24),
              ElementsAre(5, 1, 1, 1, 0, 7, 1, 7, 1, 4, 1, 3, 3, 4, 4, 1, 1, 3, 1, 4, 7, 1, 4, 4));
  const SamplerOptions all{
      .temperature = 0.7f, .top_k = 5, .top_p = 0.9f, .min_p = 0.1f, .seed = 7};
  EXPECT_THAT(draws(all, logits, 24),
              ElementsAre(7, 3, 1, 7, 7, 4, 7, 7, 4, 7, 4, 1, 1, 1, 1, 7, 1, 7, 1, 1, 1, 4, 7, 7));
}

TEST(Sampler, SurvivesLogitsThatAreNoNumbers) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const SamplerOptions options{
      .repeat_penalty = 1.5f, .temperature = 0.5f, .top_k = 3, .top_p = 0.9f, .min_p = 0.01f};
  EXPECT_THAT(drawn_set(options, {NAN, 1.0f, NAN, -kInfinity}), ElementsAre(1));
  EXPECT_THAT(drawn_set(options, {0.0f, kInfinity, 1.0f, NAN}), ElementsAre(1));
  for (const float all : {NAN, kInfinity, -kInfinity}) {
    EXPECT_THAT(drawn_set({.top_k = 2}, {all, all, all}), ElementsAre(0, 1));
  }
  EXPECT_THAT(drawn_set({.temperature = 1e-38f}, {1.0f, 2.0f}), ElementsAre(1));
}

TEST(Sampler, RefusesOptionsOutOfRange) {
  const auto complaint = [](const SamplerOptions& options) -> std::string {
    try {
      Sampler(options, 4);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float bad : {NAN, kInfinity, -kInfinity}) {
    EXPECT_THAT(complaint({.temperature = bad}), HasSubstr("temperature: option out of range"));
  }
  EXPECT_THAT(complaint({.top_k = -1}),
              HasSubstr("top-k: option out of range: expected 0 (off) or more, found -1"));
  for (const float bad : {NAN, 0.0f, -0.5f, 1.01f}) {
    EXPECT_THAT(complaint({.top_p = bad}), HasSubstr("top-p: option out of range"));
  }
  for (const float bad : {NAN, -0.1f, 1.01f}) {
    EXPECT_THAT(complaint({.min_p = bad}), HasSubstr("min-p: option out of range"));
  }
  for (const float bad : {NAN, 0.0f, -1.0f, kInfinity}) {
    EXPECT_THAT(complaint({.repeat_penalty = bad}), HasSubstr("repeat-penalty: option"));
  }
}

}  // namespace
}  // namespace lathe
