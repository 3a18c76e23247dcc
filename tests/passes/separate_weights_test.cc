#include <gtest/gtest.h>

#include "passes/after_pass.h"

namespace lathe {
namespace {

TEST(separate_weights, ATiedWeightBecomesAValueOfItsOwnOverTheSameNumbers) {
  Graph graph = parse_graph(R"(graph decode ar=1 cl=8
  input %tokens : i32[1, 1]
  const %embed : f32[8, 4]
  %x = aten.embedding(%embed, %tokens)
  %logits = aten.linear(%x, %embed)
  output logits = %logits
)");
  separate_weights(graph);
  const ValueId table = graph.producer(graph.find("x"))->inputs[0];
  const ValueId weight = graph.producer(graph.find("logits"))->inputs[1];
  EXPECT_NE(table, weight);
  EXPECT_EQ(graph.value(table).constant, graph.value(weight).constant);
}

}  // namespace
}  // namespace lathe
