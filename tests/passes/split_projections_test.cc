#include <gtest/gtest.h>

#include <numeric>

#include "graph/constant_floats.h"
#include "graph/text.h"
#include "graph/verifier.h"
#include "passes/pass.h"

namespace lathe {
namespace {

/// Gives a constant the numbers 0, 1, 2 ...
void count_up(Graph& graph, const char* name) {
  const ValueId id = graph.find(name);
  std::vector<float> numbers(static_cast<size_t>(elements(graph.value(id).shape)));
  std::iota(numbers.begin(), numbers.end(), 0.0f);
  graph.set_constant(id, float_constant(name, std::move(numbers)));
}

float first_number_of(const Graph& graph, const char* name) {
  return constant_floats(graph.value(graph.find(name))).at(0);
}

std::string after_split(const char* text, const char* weight) {
  Graph graph = parse_graph(text);
  count_up(graph, weight);
  split_projections(graph);
  verify(graph);
  return print_graph(graph);
}

// Queries, keys and values of one projection: 4 rows, 2 and 2.
TEST(split_projections, SlicesBecomeProjectionsOfTheirRows) {
  Graph graph = parse_graph(R"(
    graph decode ar=1 cl=1
    input %x : f32[1, 1, 3]
    const %qkv.weight : f32[8, 3]
    const %qkv.bias : f32[8]
    %linear = aten.linear(%x, %qkv.weight, %qkv.bias) @ qkv
    %slice_1 = aten.slice(%linear) {dim=2, end=4, start=0}
    %slice_2 = aten.slice(%linear) {dim=-1, end=6, start=4}
    %slice_3 = aten.slice(%linear) {dim=2, end=8, start=6}
    output q = %slice_1
    output k = %slice_2
    output v = %slice_3)");
  count_up(graph, "qkv.weight");
  count_up(graph, "qkv.bias");
  split_projections(graph);
  verify(graph);
  EXPECT_EQ(print_graph(graph), R"(graph decode ar=1 cl=1
  input %x : f32[1, 1, 3]
  const %qkv.weight.0 : f32[4, 3]
  const %qkv.bias.0 : f32[4]
  const %qkv.weight.4 : f32[2, 3]
  const %qkv.bias.4 : f32[2]
  const %qkv.weight.6 : f32[2, 3]
  const %qkv.bias.6 : f32[2]
  %linear = aten.linear(%x, %qkv.weight.0, %qkv.bias.0) : f32[1, 1, 4] @ qkv
  %linear_1 = aten.linear(%x, %qkv.weight.4, %qkv.bias.4) : f32[1, 1, 2] @ qkv
  %linear_2 = aten.linear(%x, %qkv.weight.6, %qkv.bias.6) : f32[1, 1, 2] @ qkv
  output q = %linear
  output k = %linear_1
  output v = %linear_2
)");
  EXPECT_EQ(first_number_of(graph, "qkv.weight.4"), 4.0f * 3.0f);
  EXPECT_EQ(first_number_of(graph, "qkv.bias.6"), 6.0f);
}

TEST(split_projections, ChunksCountAsSlices) {
  EXPECT_EQ(after_split(R"(
    graph decode ar=1 cl=1
    input %x : f32[1, 1, 3]
    const %gate_up.weight : f32[8, 3]
    %linear = aten.linear(%x, %gate_up.weight) @ gate_up
    %chunk = aten.chunk(%linear) {chunks=2, dim=-1}
    %getitem = operator.getitem(%chunk) {index=0}
    %getitem_1 = operator.getitem(%chunk) {index=1}
    output gate = %getitem
    output up = %getitem_1)",
                        "gate_up.weight"),
            "graph decode ar=1 cl=1\n"
            "  input %x : f32[1, 1, 3]\n"
            "  const %gate_up.weight.0 : f32[4, 3]\n"
            "  const %gate_up.weight.4 : f32[4, 3]\n"
            "  %linear = aten.linear(%x, %gate_up.weight.0) : f32[1, 1, 4] @ gate_up\n"
            "  %linear_1 = aten.linear(%x, %gate_up.weight.4) : f32[1, 1, 4] @ gate_up\n"
            "  output gate = %linear\n"
            "  output up = %linear_1\n");
}

TEST(split_projections, KeepsAProjectionThatIsAlsoReadAsAWhole) {
  const char* text =
      "graph decode ar=1 cl=1\n"
      "  input %x : f32[1, 1, 3]\n"
      "  const %w : f32[8, 3]\n"
      "  %linear = aten.linear(%x, %w) : f32[1, 1, 8]\n"
      "  %slice_1 = aten.slice(%linear) {dim=2, end=4, start=0} : f32[1, 1, 4]\n"
      "  %neg = aten.neg(%linear) : f32[1, 1, 8]\n"
      "  output y = %slice_1\n"
      "  output z = %neg\n";
  EXPECT_EQ(after_split(text, "w"), text);
}

TEST(split_projections, KeepsSlicesThatAreNotRunsOfRows) {
  const char* text =
      "graph prefill ar=2 cl=2\n"
      "  input %x : f32[1, 2, 3]\n"
      "  const %w : f32[8, 3]\n"
      "  %linear = aten.linear(%x, %w) : f32[1, 2, 8]\n"
      "  %slice_1 = aten.slice(%linear) {dim=1, end=1, start=0} : f32[1, 1, 8]\n"
      "  %linear_1 = aten.linear(%x, %w) : f32[1, 2, 8]\n"
      "  %slice_2 = aten.slice(%linear_1) {dim=2, end=8, start=0, step=2} : f32[1, 2, 4]\n"
      "  output y = %slice_1\n"
      "  output z = %slice_2\n";
  EXPECT_EQ(after_split(text, "w"), text);
}

}  // namespace
}  // namespace lathe
