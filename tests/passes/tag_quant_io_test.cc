#include <gtest/gtest.h>

#include "passes/after_pass.h"

namespace lathe {
namespace {

TEST(tag_quant_io, CodesCrossTheBoundary) {
  EXPECT_EQ(test::after_pass(R"(graph decode ar=1 cl=4
  input %k_cache_0 : f32[1, 1, 4, 3]
  %quantize = lathe.quantize(%k_cache_0) {dtype=u8} : u8[1, 1, 4, 3]<0.02, 128>
  %row = aten.select(%quantize) {dim=3, index=0} : u8[1, 1, 4]<0.02, 128>
  %dequantize = lathe.dequantize(%row) : f32[1, 1, 4]
  output logits = %dequantize
)",
                             tag_quant_io),
            R"(graph decode ar=1 cl=4
  input %k_cache_0 : u8[1, 1, 4, 3]<0.02, 128>
  %row = aten.select(%k_cache_0) {dim=3, index=0} : u8[1, 1, 4]<0.02, 128>
  output logits = %row
)");
}

}  // namespace
}  // namespace lathe
