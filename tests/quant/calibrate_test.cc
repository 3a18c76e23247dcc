#include "quant/calibrate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "graph/text.h"
#include "quant/one_layer.h"
#include "support/error.h"

namespace lathe {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Scan, FindsBothEndsWhereverTheyAre) {
  for (const int64_t count : {1, 15, 16, 17, 100}) {
    for (int64_t at = 0; at < count; ++at) {
      std::vector<float> numbers(static_cast<size_t>(count), 0.5f);
      numbers[static_cast<size_t>(at)] = 7.0f;
      EXPECT_EQ(scan(numbers.data(), count).range, (ValueRange{count == 1 ? 7.0f : 0.5f, 7.0f}));
      for (const float bad : {std::nanf(""), -std::numeric_limits<float>::infinity()}) {
        numbers[static_cast<size_t>(at)] = bad;
        EXPECT_FALSE(scan(numbers.data(), count).finite);
      }
    }
  }
  EXPECT_TRUE(scan(nullptr, 0).range.empty());
  EXPECT_TRUE(scan(nullptr, 0).finite);
}

Graph two_products() {
  return parse_graph(R"(graph calibrate ar=4 cl=4
  input %x : f32[1, 2]
  const %w : f32[2, 2]
  %up = aten.linear(%x, %w) @ layers.0.up_proj
  %flat = aten.view(%up) {sizes=[2]}
  %down = aten.silu(%flat) @ layers.0.act
  output logits = %down
)");
}

TEST(Calibrate, MergesRangesOverBatches) {
  const Graph graph = two_products();
  const ValueId up = graph.find("up");
  const ValueId down = graph.find("down");
  const FloatRun run = [&](const CalibrationBatch& batch, const FloatObserver& observe) {
    const auto first = static_cast<float>(batch.tokens[0]);
    observe(up, std::vector<float>{first, 1.0f});
    observe(graph.find("flat"), std::vector<float>{first, 1.0f});
    observe(down, std::vector<float>{0.25f});
    observe(down, std::vector<float>{0.5f});  // a second piece of the same value
  };
  ThreadPool pool(2);
  const std::vector<CalibrationBatch> batches{{{3, 1}}, {{-8}}};
  const RangeTable ranges = calibrate(graph, run, batches, pool);
  EXPECT_EQ(ranges[static_cast<size_t>(up)], (ValueRange{-8.0f, 3.0f}));
  EXPECT_EQ(ranges[static_cast<size_t>(down)], (ValueRange{0.25f, 0.5f}));
  // What is only moved has the range of where it comes from.
  EXPECT_TRUE(ranges[static_cast<size_t>(graph.find("flat"))].empty());
}

TEST(Calibrate, NamesNodeAndModuleOfANumberThatIsNotFinite) {
  const Graph graph = two_products();
  const FloatRun run = [&](const CalibrationBatch&, const FloatObserver& observe) {
    observe(graph.find("up"), std::vector<float>{1.0f, std::nanf("")});
  };
  ThreadPool pool(1);
  const std::vector<CalibrationBatch> batches{{{1}}};
  try {
    calibrate(graph, run, batches, pool);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("%up"), HasSubstr("layers.0.up_proj")));
  }
}

TEST(Calibrate, NeedsATextToRead) {
  ThreadPool pool(1);
  EXPECT_THROW(calibrate(two_products(), test::run_one_layer, {}, pool), Error);
}

TEST(Calibrate, DoesNotDependOnTheNumberOfThreads) {
  const Graph graph = test::one_layer(GraphRole::calibrate, 8, 8);
  const std::vector<CalibrationBatch> batches{{{1, 2, 3, 4, 5}}, {{10, 9, 8}}};
  ThreadPool one(1);
  const RangeTable expected = calibrate(graph, test::run_one_layer, batches, one);
  for (const int threads : {2, 5}) {
    ThreadPool pool(threads);
    EXPECT_EQ(calibrate(graph, test::run_one_layer, batches, pool), expected);
  }
}

TEST(BatchPacker, KeepsTextsWholeWhereTheyFit) {
  BatchPacker packer(5);
  for (const std::vector<int64_t>& text :
       std::vector<std::vector<int64_t>>{{1, 2, 3}, {4, 5}, {6}, {7, 8, 9, 10, 11, 12, 13}, {}}) {
    packer.add(text);
  }
  const std::vector<CalibrationBatch> batches = packer.take();
  ASSERT_EQ(batches.size(), 4u);
  EXPECT_THAT(batches[0].tokens, ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(batches[0].starts, ElementsAre(0, 3));
  EXPECT_THAT(batches[1].tokens, ElementsAre(6));
  EXPECT_THAT(batches[2].tokens, ElementsAre(7, 8, 9, 10, 11));
  EXPECT_THAT(batches[3].tokens, ElementsAre(12, 13));
}

}  // namespace
}  // namespace lathe
