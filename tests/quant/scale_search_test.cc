#include "quant/scale_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "quant/channel_codes.h"
#include "support/expect_error.h"

namespace lathe {
namespace {

constexpr WeightFormat kInt8{DType::i8};
constexpr WeightFormat kInt4{DType::i4};
constexpr WeightFormat kBlocks{DType::i4, 32};

std::vector<float> random_numbers(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> numbers(count);
  for (float& x : numbers) {
    // A sum of uniform numbers: bell-shaped, and the same in every standard library.
    x = 0.0f;
    for (int i = 0; i < 4; ++i) x += static_cast<float>(random() % 2001) / 1000.0f - 1.0f;
  }
  return numbers;
}

/// A weight [channels, k] with samples of its input, and what quantization does to its product.
struct Product {
  int64_t channels;
  int64_t k;
  std::vector<float> weights = random_numbers(static_cast<size_t>(channels * k), 1);
  std::vector<float> samples = random_numbers(static_cast<size_t>(24 * k), 2);  // [24, k]

  std::vector<float> search(const WeightFormat& format, int steps, int threads = 2) const {
    ThreadPool pool(threads);
    return search_clips(*float_constant("w", weights), {channels, k}, format, {}, samples, steps,
                        pool);
  }

  /// The squared error of one channel over the samples, from the definition.
  double error(const WeightFormat& format, int64_t channel, float clip) const {
    const std::span row(weights.data() + channel * k, static_cast<size_t>(k));
    std::vector<int8_t> codes(row.size());
    std::vector<uint8_t> factors(format.block == 0 ? 0 : row.size() / 32);
    const double scale = channel_codes(format, row, {magnitudes(format, row, "w"), clip},
                                       codes.data(), factors.data());
    double error = 0.0;
    for (size_t r = 0; r < samples.size(); r += row.size()) {
      double difference = 0.0;
      for (size_t i = 0; i < row.size(); ++i) {
        const int factor = factors.empty() ? 1 : factors[i / 32];
        difference += samples[r + i] * (row[i] - scale * codes[i] * factor);
      }
      error += difference * difference;
    }
    return error;
  }
};

class ScaleSearch : public ::testing::TestWithParam<WeightFormat> {};

TEST_P(ScaleSearch, IsNeverWorseThanTheLargestMagnitude) {
  const Product product{40, 96};
  const std::vector<float> clips = product.search(GetParam(), 10);
  ASSERT_EQ(clips.size(), 40u);
  double before = 0.0;
  double after = 0.0;
  for (int64_t c = 0; c < 40; ++c) {
    const float clip = clips[static_cast<size_t>(c)];
    EXPECT_GT(clip, 0.0f);
    EXPECT_LE(clip, 1.0f);
    EXPECT_LE(product.error(GetParam(), c, clip), product.error(GetParam(), c, 1.0f)) << c;
    before += product.error(GetParam(), c, 1.0f);
    after += product.error(GetParam(), c, clip);
  }
  EXPECT_LT(after, before);
}

TEST_P(ScaleSearch, FindsTheBestOfTheFractionsThatItTries) {
  const Product product{6, 64};
  constexpr int kSteps = 10;
  const std::vector<float> clips = product.search(GetParam(), kSteps);
  for (int64_t c = 0; c < 6; ++c) {
    double smallest = std::numeric_limits<double>::infinity();
    double coarse = 1.0;
    for (int i = kSteps; i >= 1; --i) {
      const double error = product.error(GetParam(), c, static_cast<float>(i * (1.0 / kSteps)));
      if (error < smallest) coarse = i * (1.0 / kSteps);
      smallest = std::min(smallest, error);
    }
    for (int i = kSteps; i >= 0; --i) {
      const double clip = coarse - 0.1 + i * 0.02;
      if (clip <= 0.0 || clip > 1.0) continue;
      smallest = std::min(smallest, product.error(GetParam(), c, static_cast<float>(clip)));
    }
    const double found = product.error(GetParam(), c, clips[static_cast<size_t>(c)]);
    EXPECT_NEAR(found, smallest, 1e-6 * smallest) << c;
  }
}

TEST_P(ScaleSearch, DoesNotDependOnTheNumberOfThreads) {
  const Product product{70, 2048};  // three blocks of channels
  const std::vector<float> one = product.search(GetParam(), 4, 1);
  EXPECT_EQ(product.search(GetParam(), 4, 2), one);
  EXPECT_EQ(product.search(GetParam(), 4, 3), one);
}

INSTANTIATE_TEST_SUITE_P(Formats, ScaleSearch, ::testing::Values(kInt8, kInt4, kBlocks));

TEST(SearchClips, ClipsAnOutlierThatTheInputHardlyReads) {
  // One weight is ten times as large as all others, and meets an input of a hundredth.
  Product product{1, 64};
  product.weights[5] = 40.0f;
  for (size_t i = 5; i < product.samples.size(); i += 64) product.samples[i] *= 0.01f;
  const float clip = product.search(kInt4, 20).front();
  EXPECT_LT(clip, 0.3f);
  EXPECT_LT(product.error(kInt4, 0, clip), 0.2 * product.error(kInt4, 0, 1.0f));
}

TEST(SearchClips, KeepsAnOutlierThatMatters) {
  // The input is nothing but what meets the largest weight: clipping it would be all of the error.
  Product product{1, 64};
  product.weights[5] = 40.0f;
  for (size_t i = 0; i < product.samples.size(); ++i) {
    if (i % 64 != 5) product.samples[i] = 0.0f;
  }
  EXPECT_EQ(product.search(kInt4, 20).front(), 1.0f);
}

TEST(SearchClips, LeavesChannelsOfZerosAndSixteenBitsAlone) {
  Product product{2, 64};
  std::fill(product.weights.begin(), product.weights.end(), 0.0f);
  EXPECT_EQ(product.search(kInt8, 5), (std::vector<float>{1.0f, 1.0f}));
  EXPECT_EQ((Product{2, 64}.search({DType::i16}, 5)), (std::vector<float>{1.0f, 1.0f}));
}

TEST(SearchClips, RefusesNumbersThatAreNotFiniteByName) {
  Product weight{2, 64};
  weight.weights[70] = std::nanf("");
  testing::expect_error([&] { weight.search(kInt8, 5); }, {"w: ", "NaN"});
  Product input{2, 64};
  input.samples[70] = std::numeric_limits<float>::infinity();
  testing::expect_error([&] { input.search(kInt8, 5); }, {"samples of the input of w", "NaN"});
  testing::expect_error([] { (Product{2, 48}.search(kBlocks, 5)); }, {"w: ", "a multiple of 32"});
}

}  // namespace
}  // namespace lathe
