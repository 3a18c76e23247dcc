#include <gtest/gtest.h>

#include "passes/after_pass.h"

namespace lathe {
namespace {

using test::after_pass;

TEST(sink_layout, AGatedActivationStaysInTheLayoutOfItsProducts) {
  EXPECT_EQ(after_pass(R"(graph prefill ar=2 cl=8
  input %gate : f32[1, 6, 1, 2]
  input %up : f32[1, 6, 1, 2]
  %permute = aten.permute(%gate) {dims=[0, 3, 1, 2]} @ gate_proj
  %reshape = aten.reshape(%permute) {sizes=[1, 2, 6]} @ gate_proj
  %silu = aten.silu(%reshape) @ act_fn
  %permute_1 = aten.permute(%up) {dims=[0, 3, 1, 2]} @ up_proj
  %reshape_1 = aten.reshape(%permute_1) {sizes=[1, 2, 6]} @ up_proj
  %mul = aten.mul(%silu, %reshape_1) @ mlp
  output y = %mul
)",
                       sink_layout),
            R"(graph prefill ar=2 cl=8
  input %gate : f32[1, 6, 1, 2]
  input %up : f32[1, 6, 1, 2]
  %silu = aten.silu(%gate) : f32[1, 6, 1, 2] @ act_fn
  %mul = aten.mul(%silu, %up) : f32[1, 6, 1, 2] @ mlp
  %permute_1 = aten.permute(%mul) {dims=[0, 3, 1, 2]} : f32[1, 2, 6, 1] @ gate_proj
  %reshape_1 = aten.reshape(%permute_1) {sizes=[1, 2, 6]} : f32[1, 2, 6] @ gate_proj
  output y = %reshape_1
)");
}

TEST(sink_layout, OperandsInDifferentLayoutsStay) {
  constexpr const char* kResidual = R"(graph prefill ar=2 cl=8
  input %x : f32[1, 2, 6]
  input %conv : f32[1, 6, 1, 2]
  %permute = aten.permute(%conv) {dims=[0, 3, 1, 2]} : f32[1, 2, 6, 1] @ o_proj
  %reshape = aten.reshape(%permute) {sizes=[1, 2, 6]} : f32[1, 2, 6] @ o_proj
  %add = aten.add(%x, %reshape) : f32[1, 2, 6] @ layers.0
  output y = %add
)";
  EXPECT_EQ(after_pass(kResidual, sink_layout), kResidual);
}

TEST(sink_layout, ALayoutThatSomethingElseReadsStays) {
  constexpr const char* kShared = R"(graph prefill ar=2 cl=8
  input %conv : f32[1, 6, 1, 2]
  %permute = aten.permute(%conv) {dims=[0, 3, 1, 2]} : f32[1, 2, 6, 1]
  %silu = aten.silu(%permute) : f32[1, 2, 6, 1]
  output y = %silu
  output x = %permute
)";
  EXPECT_EQ(after_pass(kShared, sink_layout), kShared);
}

}  // namespace
}  // namespace lathe
