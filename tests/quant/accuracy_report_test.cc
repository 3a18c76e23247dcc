#include "quant/accuracy_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "graph/text.h"
#include "quant/product_samples.h"

namespace lathe {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kWidth = 64;
constexpr int64_t kRows = 32;

std::vector<float> random_numbers(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> numbers(static_cast<size_t>(count));
  for (float& x : numbers) x = static_cast<float>(random() % 2001) / 1000.0f - 1.0f;
  return numbers;
}

/// Two products of one input width; channel 5 of the second's input is `outlier` times as large.
struct TwoProducts {
  float outlier = 1.0f;
  std::string dtype = "16a4w";

  Recipe recipe() const {
    return parse_recipe(R"({"name": "r", "kv_bits": 8, "dtype": ")" + dtype + "\"}", "r.json");
  }

  std::vector<ProductAccuracy> measure(int threads = 2) const {
    Graph graph = parse_graph(R"(graph decode ar=1 cl=4
  input %x : f32[1, 1, 64]
  input %gated : f32[1, 1, 64]
  const %up : f32[48, 64]
  const %down : f32[64, 64]
  %a = aten.linear(%x, %up) @ model.layers.1.mlp.up_proj
  %b = aten.linear(%gated, %down) @ model.layers.1.mlp.down_proj
  output logits = %b
  output other = %a
)");
    graph.set_constant(graph.find("up"), float_constant("up", random_numbers(48 * kWidth, 1)));
    graph.set_constant(graph.find("down"), float_constant("down", random_numbers(64 * kWidth, 2)));
    ProductSamples samples(graph);
    std::vector<float> gated = random_numbers(kRows * kWidth, 3);
    for (int64_t row = 0; row < kRows; ++row)
      gated[static_cast<size_t>(row * kWidth + 5)] *= outlier;
    samples.observe(graph.find("x"), random_numbers(kRows * kWidth, 4));
    samples.observe(graph.find("gated"), gated);
    const std::vector<WeightChoice> choices = choose_weights(recipe(), graph);
    ThreadPool pool(threads);
    return product_accuracies(graph, choices, {formats_of(choices), 0, &samples}, pool);
  }
};

TEST(AccuracyReport, MeasuresEveryProduct) {
  const std::vector<ProductAccuracy> products = TwoProducts{}.measure();
  ASSERT_EQ(products.size(), 2u);
  for (const ProductAccuracy& product : products) {
    // Uniform numbers in steps of 1/7: 10 log10(7^2 * 4), and 25 dB more for steps of 1/127.
    EXPECT_NEAR(product.sqnr_db, 22.9, 1.0) << product.module;
    EXPECT_NEAR(product.sqnr_db_8_bits, 48.1, 1.0) << product.module;
    EXPECT_NEAR(product.outlier, 1.0, 0.1) << product.module;
    EXPECT_FALSE(stands_out(product)) << product.module;
  }
  EXPECT_THAT(describe(products), HasSubstr("0 of 2 products stand out"));
  EXPECT_THAT(describe(products), Not(HasSubstr("rules")));
}

TEST(AccuracyReport, NamesAProductWithOneLargeChannelAndProposesEightBits) {
  const std::vector<ProductAccuracy> products = TwoProducts{.outlier = 1000.0f}.measure();
  EXPECT_FALSE(stands_out(products[0]));
  EXPECT_TRUE(stands_out(products[1]));
  EXPECT_NEAR(products[1].outlier, 1000.0, 100.0);
  const std::string text = describe(products);
  EXPECT_THAT(text, HasSubstr("1 of 2 products stand out"));
  EXPECT_THAT(text, HasSubstr("model.layers.1.mlp.down_proj: i4 per channel"));
  EXPECT_THAT(text, HasSubstr(R"({"match":{"op":"linear","module":"^model\\.layers\\.1\\.mlp\\)"
                              R"(.down_proj$"},"dtype":"16a8w","granularity":"channel"})"));
}

// What it proposes is there already.
TEST(AccuracyReport, ProposesNothingForEightBits) {
  const std::string text = describe(TwoProducts{.outlier = 1000.0f, .dtype = "16a8w"}.measure());
  EXPECT_THAT(text, HasSubstr("model.layers.1.mlp.down_proj: i8 per channel"));
  EXPECT_THAT(text, Not(HasSubstr("rules")));
}

// 8-bit activations cannot hold one channel and the others.
TEST(AccuracyReport, SeesActivationsAsTheyAreStored) {
  const TwoProducts even{.dtype = "8a8w"};
  const TwoProducts uneven{.outlier = 1000.0f, .dtype = "8a8w"};
  EXPECT_LT(uneven.measure()[1].sqnr_db, even.measure()[1].sqnr_db + 1.0);
  EXPECT_LT(even.measure()[0].sqnr_db, TwoProducts{.dtype = "16a8w"}.measure()[0].sqnr_db - 1.0);
}

TEST(AccuracyReport, DoesNotDependOnTheNumberOfThreads) {
  EXPECT_EQ(describe(TwoProducts{.outlier = 1000.0f}.measure(1)),
            describe(TwoProducts{.outlier = 1000.0f}.measure(3)));
}

}  // namespace
}  // namespace lathe
