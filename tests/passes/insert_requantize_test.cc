#include <gtest/gtest.h>

#include "passes/after_pass.h"

namespace lathe {
namespace {

using test::after_pass;

TEST(insert_requantize, StandsDirectlyBehindTheProducer) {
  EXPECT_EQ(after_pass(R"(graph decode ar=1 cl=4
  input %x : f32[1, 1, 8] ~u16
  const %w : f32[4, 8]
  %v = aten.linear(%x, %w) : f32[1, 1, 4] ~u16>u8:symmetric @ v_proj
  %heads = aten.view(%v) {sizes=[1, 1, 1, 4]} : f32[1, 1, 1, 4] ~u8:symmetric @ self_attn
  output v_new_0 = %heads
)",
                       insert_requantize),
            R"(graph decode ar=1 cl=4
  input %x : f32[1, 1, 8] ~u16
  const %w : f32[4, 8]
  %v = aten.linear(%x, %w) : f32[1, 1, 4] ~u16 @ v_proj
  %requantize = lathe.requantize(%v) : f32[1, 1, 4] ~u8:symmetric @ v_proj
  %heads = aten.view(%requantize) {sizes=[1, 1, 1, 4]} : f32[1, 1, 1, 4] ~u8:symmetric @ self_attn
  output v_new_0 = %heads
)");
}

TEST(insert_requantize, ReadersThatComputeKeepTheNumbersAsTheyWereMade) {
  EXPECT_EQ(after_pass(R"(graph decode ar=1 cl=1
  input %x : f32[2, 2] ~u16
  input %p : f32[2, 2] ~u16
  const %w : f32[2, 2]
  %v = aten.linear(%x, %w) : f32[2, 2] ~u16>u8:symmetric
  %mixed = aten.matmul(%p, %v) : f32[2, 2] ~u16
  %sum = aten.add(%mixed, %v) : f32[2, 2] ~u16
  output out = %sum
)",
                       insert_requantize),
            R"(graph decode ar=1 cl=1
  input %x : f32[2, 2] ~u16
  input %p : f32[2, 2] ~u16
  const %w : f32[2, 2]
  %v = aten.linear(%x, %w) : f32[2, 2] ~u16
  %requantize = lathe.requantize(%v) : f32[2, 2] ~u8:symmetric
  %mixed = aten.matmul(%p, %requantize) : f32[2, 2] ~u16
  %sum = aten.add(%mixed, %v) : f32[2, 2] ~u16
  output out = %sum
)");
}

}  // namespace
}  // namespace lathe
