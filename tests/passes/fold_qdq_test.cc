#include <gtest/gtest.h>

#include "passes/after_pass.h"

namespace lathe {
namespace {

using test::after_pass;

TEST(fold_qdq, OperatorsComeToWorkOnCodes) {
  EXPECT_EQ(after_pass(R"(graph decode ar=1 cl=1
  input %x : u16[1, 4]<0.5, 100>
  const %w : i8[2, 4]<per channel 0>
  %dequantize = lathe.dequantize(%x) : f32[1, 4]
  %dequantize_1 = lathe.dequantize(%w) : f32[2, 4]
  %linear = aten.linear(%dequantize, %dequantize_1) : f32[1, 2] @ proj
  %quantize = lathe.quantize(%linear) {dtype=u16} : u16[1, 2]<0.25, 7> @ proj
  %dequantize_2 = lathe.dequantize(%quantize) : f32[1, 2] @ proj
  output y = %dequantize_2
)",
                       fold_qdq),
            R"(graph decode ar=1 cl=1
  input %x : u16[1, 4]<0.5, 100>
  const %w : i8[2, 4]<per channel 0>
  %linear = aten.linear(%x, %w) : u16[1, 2]<0.25, 7> @ proj
  %dequantize_2 = lathe.dequantize(%linear) : f32[1, 2] @ proj
  output y = %dequantize_2
)");
}

TEST(fold_qdq, AnotherEncodingBehindDequantizeIsARequantize) {
  EXPECT_EQ(after_pass(R"(graph decode ar=1 cl=1
  input %x : u16[1, 4]<0.5, 100>
  %dequantize = lathe.dequantize(%x) : f32[1, 4]
  %quantize = lathe.quantize(%dequantize) {dtype=u8} : u8[1, 4]<1, 128> @ v_proj
  output y = %quantize
)",
                       fold_qdq),
            R"(graph decode ar=1 cl=1
  input %x : u16[1, 4]<0.5, 100>
  %requantize = lathe.requantize(%x) : u8[1, 4]<1, 128> @ v_proj
  output y = %requantize
)");
}

TEST(fold_qdq, TheSameEncodingAgainIsNothing) {
  EXPECT_EQ(after_pass(R"(graph decode ar=1 cl=1
  input %x : u16[1, 4]<0.5, 100>
  %dequantize = lathe.dequantize(%x) : f32[1, 4]
  %view = aten.view(%dequantize) {sizes=[4]} : f32[4]
  %quantize = lathe.quantize(%view) {dtype=u16} : u16[4]<0.5, 100>
  %dequantize_1 = lathe.dequantize(%quantize) : f32[4]
  %quantize_1 = lathe.quantize(%dequantize_1) {dtype=u16} : u16[4]<0.5, 100>
  output y = %quantize_1
)",
                       fold_qdq),
            R"(graph decode ar=1 cl=1
  input %x : u16[1, 4]<0.5, 100>
  %view = aten.view(%x) {sizes=[4]} : u16[4]<0.5, 100>
  output y = %view
)");
}

}  // namespace
}  // namespace lathe
