#include <gtest/gtest.h>

#include "passes/after_pass.h"

namespace lathe {
namespace {

const PassOptions kMasked{.masked_softmax = true};

constexpr const char* kAdded = R"(graph decode ar=1 cl=4
  input %q : f32[1, 2, 1, 8]
  input %k : f32[1, 2, 8, 4]
  input %attention_mask : f32[1, 1, 1, 4]
  %scores = aten.matmul(%q, %k) : f32[1, 2, 1, 4] @ self_attn
  %add = aten.add(%scores, %attention_mask) : f32[1, 2, 1, 4] @ self_attn
  %softmax = aten.softmax(%add) {dim=-1} : f32[1, 2, 1, 4] @ self_attn
  output y = %softmax
)";

TEST(masked_softmax, TheMaskReplacesScoresInsteadOfBeingAddedToThem) {
  EXPECT_EQ(test::after_pass(kAdded, masked_softmax, kMasked), R"(graph decode ar=1 cl=4
  input %q : f32[1, 2, 1, 8]
  input %k : f32[1, 2, 8, 4]
  input %attention_mask : f32[1, 1, 1, 4]
  %scores = aten.matmul(%q, %k) : f32[1, 2, 1, 4] @ self_attn
  %masked_softmax = lathe.masked_softmax(%scores, %attention_mask) {dim=-1, below=20.0} : f32[1, 2, 1, 4] @ self_attn
  output y = %masked_softmax
)");
}

TEST(masked_softmax, TakesTheMaskFromEitherSideOfTheSum) {
  std::string text = kAdded;
  const std::string sum = "(%scores, %attention_mask)";
  text.replace(text.find(sum), sum.size(), "(%attention_mask, %scores)");
  EXPECT_EQ(test::after_pass(text, masked_softmax, kMasked),
            test::after_pass(kAdded, masked_softmax, kMasked));
}

TEST(masked_softmax, DoesNothingWhereItIsNotAskedFor) {
  EXPECT_EQ(test::after_pass(kAdded, masked_softmax), kAdded);
}

TEST(masked_softmax, ASumWithSomethingElseStays) {
  std::string text = kAdded;
  for (size_t at = text.find("attention_mask"); at != std::string::npos;
       at = text.find("attention_mask")) {
    text.replace(at, 14, "bias");
  }
  EXPECT_EQ(test::after_pass(text, masked_softmax, kMasked), text);
}

}  // namespace
}  // namespace lathe
