#include <gtest/gtest.h>

#include "passes/after_pass.h"

namespace lathe {
namespace {

TEST(bounded_mask, WhatIsMaskedIsMinus255) {
  EXPECT_EQ(test::after_pass(R"(graph decode ar=1 cl=2
  input %visible : bool[2]
  input %scores : f32[2]
  %zero = aten.zeros() {sizes=[]}
  %mask = aten.where(%visible, %zero) {other=-3.4028234663852886e+38} @ model
  %masked = aten.add(%scores, %mask)
  output y = %masked
)",
                             bounded_mask),
            R"(graph decode ar=1 cl=2
  input %visible : bool[2]
  input %scores : f32[2]
  %zero = aten.zeros() {sizes=[]} : f32[]
  %where = aten.where(%visible, %zero) {other=-255.0} : f32[2] @ model
  %masked = aten.add(%scores, %where) : f32[2]
  output y = %masked
)");
}

}  // namespace
}  // namespace lathe
