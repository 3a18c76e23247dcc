#include <gtest/gtest.h>

#include "passes/after_pass.h"

namespace lathe {
namespace {

TEST(convert_conv2d_to_linear, UndoesTheConversion) {
  constexpr const char* kText = R"(graph prefill ar=2 cl=8
  input %x : f32[1, 2, 4]
  const %w : f32[6, 4]
  %linear = aten.linear(%x, %w) : f32[1, 2, 6] @ up_proj
  output y = %linear
)";
  Graph graph = parse_graph(kText);
  convert_linear_to_conv2d(graph);
  const ValueId conv2d = graph.find("conv2d");
  const auto same_numbers = convert_conv2d_to_linear(graph);
  fuse_consecutive_permute(graph);
  fuse_consecutive_reshape(graph);
  ASSERT_EQ(same_numbers.size(), 1u);
  EXPECT_EQ(same_numbers[0].second, conv2d);
  graph.rename(same_numbers[0].first, "linear");
  EXPECT_EQ(print_graph(graph), kText);
}

TEST(convert_conv2d_to_linear, ElementwiseNodesBetweenProductsCountAsRows) {
  Graph graph = parse_graph(R"(graph prefill ar=2 cl=8
  input %x : f32[1, 4, 1, 2]
  const %up : f32[6, 4, 1, 1]
  const %down : f32[4, 6, 1, 1]
  %wide = aten.conv2d(%x, %up)
  %silu = aten.silu(%wide)
  %narrow = aten.conv2d(%silu, %down)
  output y = %narrow
)");
  convert_conv2d_to_linear(graph);
  sink_layout(graph);
  fuse_consecutive_permute(graph);
  fuse_consecutive_reshape(graph);
  EXPECT_EQ(print_graph(graph), R"(graph prefill ar=2 cl=8
  input %x : f32[1, 4, 1, 2]
  const %up : f32[6, 4]
  const %down : f32[4, 6]
  %permute = aten.permute(%x) {dims=[0, 3, 1, 2]} : f32[1, 2, 4, 1]
  %reshape = aten.reshape(%permute) {sizes=[1, 2, 4]} : f32[1, 2, 4]
  %linear = aten.linear(%reshape, %up) : f32[1, 2, 6]
  %silu = aten.silu(%linear) : f32[1, 2, 6]
  %linear_1 = aten.linear(%silu, %down) : f32[1, 2, 4]
  %reshape_3 = aten.reshape(%linear_1) {sizes=[1, 2, 4, 1]} : f32[1, 2, 4, 1]
  %permute_3 = aten.permute(%reshape_3) {dims=[0, 2, 3, 1]} : f32[1, 4, 1, 2]
  output y = %permute_3
)");
}

}  // namespace
}  // namespace lathe
