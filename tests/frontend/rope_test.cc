#include "frontend/rope.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lathe {
namespace {

TEST(Rope, StandardFrequenciesArePowersOfTheBase) {
  const std::vector<float> frequencies = rope_inverse_frequencies({}, 8, 64);
  ASSERT_EQ(frequencies.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_FLOAT_EQ(frequencies[i], std::pow(10000.0f, -static_cast<float>(i) / 4.0f));
  }
}

TEST(Rope, LinearScalingDividesAll) {
  const std::vector<float> plain = rope_inverse_frequencies({}, 8, 64);
  const std::vector<float> scaled =
      rope_inverse_frequencies({.kind = RopeConfig::Kind::linear, .factor = 4.0}, 8, 64);
  for (size_t i = 0; i < 4; ++i) EXPECT_FLOAT_EQ(scaled[i], plain[i] / 4.0f);
}

// Llama 3.2: head_dim 64, theta 5e5, factor 32. Values from the published formula, in float64.
TEST(Rope, Llama3ScalingKeepsBlendsAndStretches) {
  const std::vector<float> f = rope_inverse_frequencies({.kind = RopeConfig::Kind::llama3,
                                                         .theta = 500000.0,
                                                         .factor = 32.0,
                                                         .low_freq_factor = 1.0,
                                                         .high_freq_factor = 4.0,
                                                         .original_max_position_embeddings = 8192},
                                                        64, 131072);
  const auto expect = [&](size_t i, double value) {
    EXPECT_NEAR(f[i] / value, 1.0, 1e-5) << "at " << i;
  };
  expect(13, 4.839421346e-03);
  expect(14, 3.211445995e-03);
  expect(15, 1.290547928e-03);
  expect(16, 4.295567966e-04);
  expect(17, 9.708287803e-05);
  expect(18, 1.946163818e-05);
  expect(31, 9.418306725e-08);
}

void expect_frequencies(const std::vector<float>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i] / expected[i], 1.0, 1e-5) << "at " << i;
  }
}

// Those below come from the formulas of transformers' modeling_rope_utils, in float64.
TEST(Rope, DynamicScalingRaisesTheBaseBehindTheOriginalContext) {
  const RopeConfig rope{
      .kind = RopeConfig::Kind::dynamic, .factor = 2.0, .original_max_position_embeddings = 16};
  EXPECT_EQ(rope_inverse_frequencies(rope, 8, 16), rope_inverse_frequencies({}, 8, 16));
  expect_frequencies(rope_inverse_frequencies(rope, 8, 32),
                     {1.0, 6.933612744e-02, 4.807498568e-03, 3.333333333e-04});
}

TEST(Rope, YarnKeepsFastPairsAndStretchesSlowOnes) {
  const std::vector<float> f = rope_inverse_frequencies(
      {.kind = RopeConfig::Kind::yarn, .factor = 4.0, .original_max_position_embeddings = 4096}, 32,
      16384);
  expect_frequencies(
      {f.begin() + 4, f.begin() + 14},
      {1.000000000e-01, 5.623413252e-02, 2.823462197e-02, 1.397219536e-02, 6.785714286e-03,
       3.213379001e-03, 1.468200342e-03, 6.350997893e-04, 2.500000000e-04, 1.405853313e-04});
}

TEST(Rope, LongropeTakesItsFactorsByTheContext) {
  const RopeConfig rope{.kind = RopeConfig::Kind::longrope,
                        .original_max_position_embeddings = 64,
                        .short_factor = {1.0, 2.0, 4.0},
                        .long_factor = {1.1, 1.6, 2.9}};
  expect_frequencies(rope_inverse_frequencies(rope, 6, 65),
                     {9.090909091e-01, 2.900993021e-02, 7.429085138e-04});
  const std::vector<float> standard = rope_inverse_frequencies({}, 6, 64);
  expect_frequencies(rope_inverse_frequencies(rope, 6, 64),
                     {standard[0], standard[1] / 2.0, standard[2] / 4.0});
}

}  // namespace
}  // namespace lathe
