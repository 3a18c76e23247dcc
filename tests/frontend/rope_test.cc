#include "frontend/rope.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lathe {
namespace {

TEST(Rope, StandardFrequenciesArePowersOfTheBase) {
  const std::vector<float> frequencies = rope_inverse_frequencies({}, 8);
  ASSERT_EQ(frequencies.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_FLOAT_EQ(frequencies[i], std::pow(10000.0f, -static_cast<float>(i) / 4.0f));
  }
}

TEST(Rope, LinearScalingDividesAll) {
  const std::vector<float> plain = rope_inverse_frequencies({}, 8);
  const std::vector<float> scaled =
      rope_inverse_frequencies({.kind = RopeConfig::Kind::linear, .factor = 4.0}, 8);
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
                                                        64);
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

}  // namespace
}  // namespace lathe
