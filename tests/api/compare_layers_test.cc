#include "api/compare_layers.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "eval/two_layers.h"
#include "executors/reference/evaluator_session.h"
#include "support/expect_error.h"

namespace lathe {
namespace {

using testing::expect_error;
using testing::TwoLayers;

const std::vector<int64_t> kIds = {0, 1};

/// Compares the graph with itself, run with another constant.
LayerComparison compare_with(const char* constant, const TwoLayers& numbers) {
  const Graph other = numbers.graph();
  const auto changed = [&](const Graph& graph) -> std::unique_ptr<Session> {
    auto copy = std::make_shared<Graph>(graph);
    copy->set_constant(copy->find(constant), other.value(other.find(constant)).constant);
    return std::make_unique<ReferenceSession>(std::move(copy));
  };
  return compare_layers(TwoLayers().graph(), changed, kIds);
}

std::vector<std::string> names(const LayerComparison& comparison) {
  std::vector<std::string> list;
  for (const ValueDifference& layer : comparison.layers) list.push_back(layer.name);
  return list;
}

TEST(CompareLayers, ListsWhatEachLayerGivesAndTheLogits) {
  const LayerComparison found = compare_with("shift", {});
  EXPECT_EQ(names(found), (std::vector<std::string>{"first", "second", "sum"}));
  EXPECT_FALSE(found.first_departure.has_value());
}

TEST(CompareLayers, FindsTheFirstOperatorThatDeparts) {
  const LayerComparison found = compare_with("shift", {.shift = {100, 104}});
  EXPECT_EQ(found.layers[0].worst_codes, 0);
  EXPECT_EQ(found.layers[1].worst_codes, 4);
  ASSERT_TRUE(found.first_departure.has_value());
  EXPECT_EQ(found.first_departure->name, "shifted");
  EXPECT_EQ(found.first_departure->module, "model.layers.1.mlp");
  EXPECT_LT(found.first_departure->sqnr_db, kDepartsBelow);
}

TEST(CompareLayers, LooksBeforeTheFirstLayerToo) {
  const LayerComparison found = compare_with("table", {.table = {107, 108, 100, 100}});
  ASSERT_TRUE(found.first_departure.has_value());
  EXPECT_EQ(found.first_departure->name, "row");
}

TEST(CompareLayers, IsForExecutorsOfOtherRuntimes) {
  expect_error([] { compare_layers("model.lathe", {.executor = ExecutorKind::cpu}, kIds); },
               {"--executor ort or htp", "found cpu"});
  expect_error([] { compare_layers("model.lathe", {.executor = ExecutorKind::htp}, kIds); },
               {"--soc SM8750"});
  expect_error(
      [] { compare_layers("model.lathe", {.executor = ExecutorKind::htp, .soc = "Z80"}, kIds); },
      {"unknown chip", "Z80"});
}

}  // namespace
}  // namespace lathe
