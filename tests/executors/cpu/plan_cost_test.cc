#include "executors/cpu/plan_cost.h"

#include <gtest/gtest.h>

#include "executors/cpu/code_graph.h"
#include "executors/cpu/decoder_graph.h"
#include "graph/summary.h"

namespace lathe {
namespace {

struct NamedCost {
  std::string step;
  StepCost cost;
};

std::vector<NamedCost> costs(const Graph& graph) {
  const Plan plan = lower(graph, 1);
  std::vector<NamedCost> found;
  for (const PlannedStep& step : plan.steps) {
    found.push_back({step.step->name(), cost_of(plan, step)});
  }
  return found;
}

StepCost total(const Graph& graph) {
  StepCost sum;
  for (const NamedCost& step : costs(graph)) sum += step.cost;
  return sum;
}

TEST(PlanCost, AProductReadsItsInputAndWeightsAndWritesItsOutput) {
  const CodeGraph graph(R"(graph prefill ar=5 cl=8
input %x : u16[5, 64]<0.0004, 30000>
const %w : i8[32, 64]<per channel 0>
const %b : i32[32]<per channel 0>
%x1 = aten.neg(%x) : u16[5, 64]<0.0004, 30000>
%y = aten.linear(%x1, %w, %b) : u16[5, 32]<0.001, 32768>
output y = %y
)");
  const NamedCost product = costs(graph.graph()).back();
  EXPECT_EQ(product.step, "linear");
  // 32 rows of 64 weights, the sum of each row, and biases.
  EXPECT_EQ(product.cost.weight_bytes, 32 * 64 + 32 * 4 + 32 * 4);
  EXPECT_EQ(product.cost.activation_bytes, 2 * 5 * (64 + 32));
  EXPECT_EQ(product.cost.cache_bytes, 0);
  EXPECT_EQ(product.cost.multiply_adds, 5 * 32 * 64);
}

TEST(PlanCost, ALookupReadsItsRowsOnly) {
  const CodeGraph graph(R"(graph prefill ar=3 cl=8
input %ids : i32[3]
const %table : u16[100, 16]<0.0004, 30000>
%y = aten.embedding(%table, %ids)
output y = %y
)");
  const std::vector<NamedCost> steps = costs(graph.graph());
  ASSERT_EQ(steps.size(), 1);
  EXPECT_EQ(steps[0].cost,
            (StepCost{.weight_bytes = 3 * 16 * 2, .activation_bytes = 3 * 16 * 2 + 3 * 4}));
}

TEST(PlanCost, ACopyComputesNothing) {
  const CodeGraph graph(R"(graph prefill ar=5 cl=8
input %x : u16[4, 64]<0.0004, 30000>
%y = aten.transpose(%x) {dim0=0, dim1=1}
output y = %y
)");
  const std::vector<NamedCost> steps = costs(graph.graph());
  ASSERT_FALSE(steps.empty());
  for (const NamedCost& step : steps) {
    EXPECT_EQ(step.step, "copy");
    EXPECT_EQ(step.cost, (StepCost{.activation_bytes = 2 * 4 * 64 * 2}));
  }
}

// What the steps of a whole model add up to is what its graph says.
TEST(PlanCost, AModelReadsItsWeightsAndCachesOnce) {
  for (const int64_t rows : {1, 8}) {
    const CodeGraph graph(decoder(rows, 40));
    const GraphSummary summary = summarize(graph.graph());
    const StepCost sum = total(graph.graph());
    EXPECT_EQ(sum.weight_bytes, summary.weight_bytes);
    int64_t products = 0;
    for (const NodeId id : graph.graph().order()) {
      products += multiply_adds(graph.graph(), graph.graph().node(id));
    }
    EXPECT_EQ(sum.multiply_adds, products);
    const int64_t weights = 64 * 128 + 2 * 32 * 128 + 128 * 64 + 3 * 160 * 128 + 300 * 128;
    EXPECT_EQ(products, rows * (weights + 2 * 4 * 16 * 40));
  }
}

TEST(PlanCost, AttentionReadsTheCachesAndTheNewPair) {
  const CodeGraph graph(decoder(1, 40));
  for (const NamedCost& step : costs(graph.graph())) {
    if (step.step != "attention") continue;
    const GraphSummary summary = summarize(graph.graph());
    EXPECT_EQ(step.cost.cache_bytes, summary.kv_bytes_in + summary.kv_bytes_out);
    EXPECT_EQ(step.cost.activation_bytes, 2 * (4 * 16 + 4 * 16 + 40));  // queries, result, mask
    EXPECT_EQ(step.cost.multiply_adds, 2 * 4 * 16 * 40);
    return;
  }
  FAIL() << "no attention";
}

}  // namespace
}  // namespace lathe
