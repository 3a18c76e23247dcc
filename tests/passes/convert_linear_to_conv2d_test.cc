#include <gtest/gtest.h>

#include "passes/after_pass.h"

namespace lathe {
namespace {

using test::after_pass;

TEST(convert_linear_to_conv2d, RowsBecomeChannels) {
  EXPECT_EQ(after_pass(R"(graph prefill ar=2 cl=8
  input %x : f32[1, 2, 4]
  const %w : f32[6, 4]
  const %b : f32[6]
  %linear = aten.linear(%x, %w, %b) @ layers.0.mlp.up_proj
  output y = %linear
)",
                       convert_linear_to_conv2d),
            R"(graph prefill ar=2 cl=8
  input %x : f32[1, 2, 4]
  const %w : f32[6, 4, 1, 1]
  const %b : f32[6]
  %reshape = aten.reshape(%x) {sizes=[1, 2, 4, 1]} : f32[1, 2, 4, 1] @ layers.0.mlp.up_proj
  %permute = aten.permute(%reshape) {dims=[0, 2, 3, 1]} : f32[1, 4, 1, 2] @ layers.0.mlp.up_proj
  %conv2d = aten.conv2d(%permute, %w, %b) : f32[1, 6, 1, 2] @ layers.0.mlp.up_proj
  %permute_1 = aten.permute(%conv2d) {dims=[0, 3, 1, 2]} : f32[1, 2, 6, 1] @ layers.0.mlp.up_proj
  %reshape_1 = aten.reshape(%permute_1) {sizes=[1, 2, 6]} : f32[1, 2, 6] @ layers.0.mlp.up_proj
  output y = %reshape_1
)");
}

TEST(convert_linear_to_conv2d, ProductsOfOneInputShareTheWayIn) {
  EXPECT_EQ(after_pass(R"(graph decode ar=1 cl=8
  input %x : f32[1, 1, 4]
  const %wq : f32[4, 4]
  const %wk : f32[2, 4]
  %q = aten.linear(%x, %wq) @ q_proj
  %k = aten.linear(%x, %wk) @ k_proj
  output q = %q
  output k = %k
)",
                       convert_linear_to_conv2d),
            R"(graph decode ar=1 cl=8
  input %x : f32[1, 1, 4]
  const %wq : f32[4, 4, 1, 1]
  const %wk : f32[2, 4, 1, 1]
  %reshape = aten.reshape(%x) {sizes=[1, 1, 4, 1]} : f32[1, 1, 4, 1] @ q_proj
  %permute = aten.permute(%reshape) {dims=[0, 2, 3, 1]} : f32[1, 4, 1, 1] @ q_proj
  %conv2d = aten.conv2d(%permute, %wq) : f32[1, 4, 1, 1] @ q_proj
  %permute_1 = aten.permute(%conv2d) {dims=[0, 3, 1, 2]} : f32[1, 1, 4, 1] @ q_proj
  %reshape_1 = aten.reshape(%permute_1) {sizes=[1, 1, 4]} : f32[1, 1, 4] @ q_proj
  %conv2d_1 = aten.conv2d(%permute, %wk) : f32[1, 2, 1, 1] @ k_proj
  %permute_2 = aten.permute(%conv2d_1) {dims=[0, 3, 1, 2]} : f32[1, 1, 2, 1] @ k_proj
  %reshape_2 = aten.reshape(%permute_2) {sizes=[1, 1, 2]} : f32[1, 1, 2] @ k_proj
  output q = %reshape_1
  output k = %reshape_2
)");
}

// As weights are between quantization and fold_qdq.
TEST(convert_linear_to_conv2d, LeavesAWeightAloneThatIsComputed) {
  const std::string text = R"(graph decode ar=1 cl=8
  input %x : f32[1, 1, 4]
  input %w : f32[2, 4]
  %y = aten.linear(%x, %w) : f32[1, 1, 2] @ q_proj
  output y = %y
)";
  EXPECT_EQ(after_pass(text, convert_linear_to_conv2d), text);
}

TEST(convert_linear_to_conv2d, ATiedWeightStaysATableAndBecomesOneFilter) {
  Graph graph = parse_graph(R"(graph decode ar=1 cl=8
  input %tokens : i32[1, 1]
  const %embed : f32[8, 4]
  %x = aten.embedding(%embed, %tokens) @ embed_tokens
  %a = aten.linear(%x, %embed) @ lm_head
  %b = aten.linear(%x, %embed) @ second_head
  output a = %a
  output b = %b
)");
  convert_linear_to_conv2d(graph);
  const Node& table = *graph.producer(graph.find("x"));
  const Node& first = *graph.producer(graph.find("conv2d"));
  const Node& second = *graph.producer(graph.find("conv2d_1"));
  EXPECT_EQ(graph.value(table.inputs[0]).shape, (Shape{8, 4}));
  EXPECT_EQ(graph.value(first.inputs[1]).shape, (Shape{8, 4, 1, 1}));
  EXPECT_EQ(first.inputs[1], second.inputs[1]);
  EXPECT_EQ(graph.value(first.inputs[1]).name, "lm_head.weight");
  EXPECT_EQ(graph.value(first.inputs[1]).constant, graph.value(table.inputs[0]).constant);
}

TEST(convert_linear_to_conv2d, RowsOfFourDimensionsNeedNoReshape) {
  EXPECT_EQ(after_pass(R"(graph prefill ar=3 cl=8
  input %x : f32[1, 2, 3, 4]
  const %w : f32[4, 4]
  %linear = aten.linear(%x, %w)
  output y = %linear
)",
                       convert_linear_to_conv2d),
            R"(graph prefill ar=3 cl=8
  input %x : f32[1, 2, 3, 4]
  const %w : f32[4, 4, 1, 1]
  %permute = aten.permute(%x) {dims=[0, 3, 1, 2]} : f32[1, 4, 2, 3]
  %conv2d = aten.conv2d(%permute, %w) : f32[1, 4, 2, 3]
  %permute_1 = aten.permute(%conv2d) {dims=[0, 2, 3, 1]} : f32[1, 2, 3, 4]
  output y = %permute_1
)");
}

// How it was before: converted last, on a graph in which keys and values already become 8 bits
// behind their linear, everything between the product and that point moves 16 bits.
TEST(convert_linear_to_conv2d, BehindAnnotationEightBitsBeginAfterTheReshape) {
  EXPECT_EQ(after_pass(R"(graph decode ar=1 cl=8
  input %x : u16[1, 1, 4]<0.5, 32768>
  const %w : i8[4, 4]<per channel 0>
  %linear = aten.linear(%x, %w) : u16[1, 1, 4]<0.25, 32768> @ v_proj
  %requantize = lathe.requantize(%linear) : u8[1, 1, 4]<1, 128> @ v_proj
  output v = %requantize
)",
                       convert_linear_to_conv2d),
            R"(graph decode ar=1 cl=8
  input %x : u16[1, 1, 4]<0.5, 32768>
  const %w : i8[4, 4, 1, 1]<per channel 0>
  %reshape = aten.reshape(%x) {sizes=[1, 1, 4, 1]} : u16[1, 1, 4, 1]<0.5, 32768> @ v_proj
  %permute = aten.permute(%reshape) {dims=[0, 2, 3, 1]} : u16[1, 4, 1, 1]<0.5, 32768> @ v_proj
  %conv2d = aten.conv2d(%permute, %w) : u16[1, 4, 1, 1]<0.25, 32768> @ v_proj
  %permute_1 = aten.permute(%conv2d) {dims=[0, 3, 1, 2]} : u16[1, 1, 4, 1]<0.25, 32768> @ v_proj
  %reshape_1 = aten.reshape(%permute_1) {sizes=[1, 1, 4]} : u16[1, 1, 4]<0.25, 32768> @ v_proj
  %requantize = lathe.requantize(%reshape_1) : u8[1, 1, 4]<1, 128> @ v_proj
  output v = %requantize
)");
}

}  // namespace
}  // namespace lathe
