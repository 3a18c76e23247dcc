#include "eval/value_differences.h"

#include <gtest/gtest.h>

#include <limits>
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

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::unique_ptr<Session> run_as_it_is(const Graph& graph) {
  return std::make_unique<ReferenceSession>(std::make_shared<const Graph>(graph));
}

/// Runs every graph with these numbers in place of its own.
MakeSession run_with(const TwoLayers& numbers) {
  return [other = numbers.graph()](const Graph& graph) {
    Graph changed = graph;
    for (const char* name : {"table", "shift"}) {
      changed.set_constant(changed.find(name), other.value(other.find(name)).constant);
    }
    return run_as_it_is(changed);
  };
}

std::vector<ValueDifference> differences(const std::vector<std::string>& names,
                                         const TwoLayers& tested, const std::vector<int64_t>& ids) {
  const Graph graph = TwoLayers().graph();
  std::vector<ValueId> values;
  for (const std::string& name : names) values.push_back(graph.find(name));
  return compare_values(graph, values, run_as_it_is, run_with(tested), ids);
}

TEST(ValueDifferences, OfEqualSessionsAreNone) {
  const auto found = differences({"first", "second"}, {}, {0, 1, 0});
  ASSERT_EQ(found.size(), 2u);
  for (const ValueDifference& difference : found) {
    EXPECT_EQ(difference.sqnr_db, kInfinity);
    EXPECT_EQ(difference.worst_codes, 0);
  }
  EXPECT_EQ(found[0].name, "first");
  EXPECT_EQ(found[0].module, "model.layers.0.mlp");
  EXPECT_EQ(found[0].op, "aten.add");
}

// Token 0 gives first = (12, 16) codes from the zero point on, token 1 (0, 0): a power of 400. A
// table that is wrong by one code for token 0 makes first wrong by two: 4. A factor of 100.
TEST(ValueDifferences, SqnrIsThatOfAllStepsTogether) {
  const auto found = differences({"first"}, {.table = {107, 108, 100, 100}}, {0, 1});
  EXPECT_NEAR(found[0].sqnr_db, 20.0, 1e-12);
  EXPECT_EQ(found[0].worst_codes, 2);
}

// The largest difference of any step, up or down: token 1 is wrong by 2 * -3.
TEST(ValueDifferences, WorstCodesHaveNoSign) {
  const auto found = differences({"first"}, {.table = {107, 108, 100, 97}}, {0, 1});
  EXPECT_EQ(found[0].worst_codes, 6);
}

TEST(ValueDifferences, ShowWhereTheyBegin) {
  const auto found =
      differences({"row", "first", "shifted", "second"}, {.shift = {100, 104}}, {0, 1});
  EXPECT_EQ(found[0].worst_codes, 0);
  EXPECT_EQ(found[1].worst_codes, 0);
  EXPECT_EQ(found[2].worst_codes, 4);
  EXPECT_EQ(found[3].worst_codes, 4);
}

// The wrong keys of the tested session do not reach its next step: it gets those of the reference.
TEST(ValueDifferences, AreThoseOfOneStep) {
  const auto found = differences({"narrow", "seen"}, {.table = {126, 108, 100, 100}}, {0, 0, 0});
  EXPECT_EQ(found[0].worst_codes, 10);
  EXPECT_EQ(found[1].worst_codes, 0);
}

TEST(ValueDifferences, AreOfCodesOfActivations) {
  const auto refuse = [](const char* name) {
    expect_error([&] { differences({name}, {}, {0}); }, {name, "no activation of 8 or 16 bits"});
  };
  refuse("tokens");
  refuse("table");
}

TEST(ValueDifferences, RefuseIdsThatTheGraphDoesNotTake) {
  expect_error([] { differences({"first"}, {}, {2}); }, {"2"});
  expect_error([] { differences({"first"}, {}, {0, 0, 0, 0, 0}); }, {"4", "5"});
  expect_error([] { differences({"first"}, {}, {}); }, {"no tokens"});
}

}  // namespace
}  // namespace lathe
