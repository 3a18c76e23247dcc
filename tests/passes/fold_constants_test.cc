#include <gtest/gtest.h>

#include "graph/constant_floats.h"
#include "graph/text.h"
#include "graph/verifier.h"
#include "passes/after_pass.h"
#include "passes/pass.h"

namespace lathe {
namespace {

std::vector<float> numbers_of(const Graph& graph, const char* name) {
  return constant_floats(graph.value(graph.find(name)));
}

// A norm that adds one to its weight, and a scale that is a tensor of one number.
TEST(fold_constants, WhatIsMadeOfConstantsIsAConstant) {
  Graph graph = parse_graph(R"(
    graph decode ar=1 cl=1
    input %x : f32[1, 4]
    const %norm.weight : f32[4]
    const %scale : f32[]
    %add = aten.add(%norm.weight) {other=1.0} @ norm
    %normed = aten.mul(%x, %add) @ norm
    %scaled = aten.mul(%normed, %scale)
    output y = %scaled)");
  graph.set_constant(graph.find("norm.weight"),
                     float_constant("norm.weight", {0.5f, 0.0f, -1.0f, 2.0f}));
  graph.set_constant(graph.find("scale"), float_constant("scale", {8.0f}));
  fold_constants(graph);
  verify(graph);
  EXPECT_EQ(print_graph(graph),
            "graph decode ar=1 cl=1\n"
            "  input %x : f32[1, 4]\n"
            "  const %norm.weight.add : f32[4]\n"
            "  %normed = aten.mul(%x, %norm.weight.add) : f32[1, 4] @ norm\n"
            "  %mul = aten.mul(%normed) {other=8.0} : f32[1, 4]\n"
            "  output y = %mul\n");
  EXPECT_EQ(numbers_of(graph, "norm.weight.add"), (std::vector{1.5f, 1.0f, 0.0f, 3.0f}));
}

TEST(fold_constants, WhatIsReadTwiceIsFoldedOnce) {
  Graph graph = parse_graph(R"(
    graph decode ar=1 cl=1
    input %x : f32[2]
    const %w : f32[2]
    %neg = aten.neg(%w)
    %cos = aten.cos(%neg)
    %mul = aten.mul(%x, %cos)
    %add = aten.add(%mul, %cos)
    output y = %add)");
  graph.set_constant(graph.find("w"), float_constant("w", {0.0f, -1.0f}));
  fold_constants(graph);
  verify(graph);
  EXPECT_EQ(print_graph(graph),
            "graph decode ar=1 cl=1\n"
            "  input %x : f32[2]\n"
            "  const %w.cos : f32[2]\n"
            "  %mul = aten.mul(%x, %w.cos) : f32[2]\n"
            "  %add = aten.add(%mul, %w.cos) : f32[2]\n"
            "  output y = %add\n");
}

// Zeros are no constant's, and where numbers are missing nothing can be computed from them.
TEST(fold_constants, KeepsWhatItCannotCompute) {
  const char* text =
      "graph decode ar=1 cl=1\n"
      "  input %x : f32[4]\n"
      "  const %unread : f32[4]\n"
      "  %zeros = aten.zeros() {sizes=[4]} : f32[4]\n"
      "  %neg = aten.neg(%unread) : f32[4]\n"
      "  %add = aten.add(%x, %zeros) : f32[4]\n"
      "  %mul = aten.mul(%add, %neg) : f32[4]\n"
      "  output y = %mul\n";
  EXPECT_EQ(test::after_pass(text, fold_constants), text);
}

}  // namespace
}  // namespace lathe
