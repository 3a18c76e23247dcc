#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/operators.h"
#include "passes/after_pass.h"

namespace lathe {
namespace {

/// `conversion` before annotation, or afterwards (how it was before).
Graph value_path(bool convert_first) {
  Graph graph = parse_graph(R"(graph decode ar=1 cl=4
  input %x : f32[1, 1, 8]
  input %v_cache_0 : f32[1, 2, 3, 4]
  input %p : f32[1, 2, 1, 4]
  const %w : f32[8, 8]
  %v = aten.linear(%x, %w) : f32[1, 1, 8] @ v_proj
  %heads = aten.view(%v) {sizes=[1, 1, 2, 4]} : f32[1, 1, 2, 4] @ self_attn
  %rows = aten.transpose(%heads) {dim0=1, dim1=2} : f32[1, 2, 1, 4] @ self_attn
  %all = aten.cat(%v_cache_0, %rows) {dim=2} : f32[1, 2, 4, 4] @ self_attn
  %mixed = aten.matmul(%p, %all) : f32[1, 2, 1, 4] @ self_attn
  output out = %mixed
  output v_new_0 = %rows
)");
  if (convert_first) {
    convert_linear_to_conv2d(graph);
    fuse_consecutive_reshape(graph);
  }
  annotate(graph, {});
  annotate_kv_8bit(graph, {});
  insert_requantize(graph);
  if (!convert_first) {
    convert_linear_to_conv2d(graph);
    fuse_consecutive_reshape(graph);
  }
  verify(graph);
  return graph;
}

/// "conv2d(16) -> requantize(8) -> ...": from the product to the concat with the past.
std::string steps(const Graph& graph) {
  std::string text;
  ValueId id = graph.producer(graph.find("all"))->inputs[1];
  while (true) {
    const Node& node = *graph.producer(id);
    const std::string step = std::string(rule_of(node.op).stem) + "(" +
                             std::to_string(bits_of(graph.value(id).spec->dtype)) + ")";
    text = text.empty() ? step : step + " -> " + text;
    if (node.op == Op::conv2d) return text;
    id = node.inputs[0];
  }
}

TEST(annotate_kv_8bit, ValuesAreEightBitsFromTheConvolutionOn) {
  EXPECT_EQ(steps(value_path(true)),
            "conv2d(16) -> requantize(8) -> permute(8) -> reshape(8) -> transpose(8)");
}

TEST(annotate_kv_8bit, ConvertedAfterwardsTheyMoveAsSixteenBits) {
  EXPECT_EQ(steps(value_path(false)),
            "conv2d(16) -> permute(16) -> reshape(16) -> requantize(8) -> view(8) -> "
            "transpose(8)");
}

TEST(annotate_kv_8bit, WalksBackToWhatComputesAndNoFurther) {
  EXPECT_EQ(test::after_pass(R"(graph decode ar=1 cl=4
  input %a : f32[1, 1, 1, 2] ~u16
  input %b : f32[1, 1, 1, 2] ~u16
  input %q : f32[1, 1, 1, 4] ~u16
  input %k_cache_0 : f32[1, 1, 4, 3] ~u16
  %low = aten.sub(%a, %b) : f32[1, 1, 1, 2] ~u16
  %high = aten.add(%a, %b) : f32[1, 1, 1, 2] ~u16
  %k = aten.cat(%low, %high) {dim=3} : f32[1, 1, 1, 4] ~u16
  %k_new = aten.transpose(%k) {dim0=2, dim1=3} : f32[1, 1, 4, 1] ~u16
  %all = aten.cat(%k_cache_0, %k_new) {dim=3} : f32[1, 1, 4, 4] ~u16
  %scores = aten.matmul(%q, %all) : f32[1, 1, 1, 4] ~u16
  output scores = %scores
  output k_new_0 = %k_new
)",
                             annotate_kv_8bit),
            R"(graph decode ar=1 cl=4
  input %a : f32[1, 1, 1, 2] ~u16
  input %b : f32[1, 1, 1, 2] ~u16
  input %q : f32[1, 1, 1, 4] ~u16
  input %k_cache_0 : f32[1, 1, 4, 3] ~u8:symmetric
  %low = aten.sub(%a, %b) : f32[1, 1, 1, 2] ~u16>u8:symmetric
  %high = aten.add(%a, %b) : f32[1, 1, 1, 2] ~u16>u8:symmetric
  %k = aten.cat(%low, %high) {dim=3} : f32[1, 1, 1, 4] ~u8:symmetric
  %k_new = aten.transpose(%k) {dim0=2, dim1=3} : f32[1, 1, 4, 1] ~u8:symmetric
  %all = aten.cat(%k_cache_0, %k_new) {dim=3} : f32[1, 1, 4, 4] ~u8:symmetric
  %scores = aten.matmul(%q, %all) : f32[1, 1, 1, 4] ~u16
  output scores = %scores
  output k_new_0 = %k_new
)");
}

// Two of four values of each head rotate: what they are computed from stays as it was made.
TEST(annotate_kv_8bit, WhereAPartOfAKeyRotatesTheOtherBeginsBehindItsSlice) {
  EXPECT_EQ(test::after_pass(R"(graph decode ar=1 cl=4
  input %x : f32[1, 1, 1, 8] ~u16
  input %cos : f32[1, 1, 1, 1] ~u16
  input %q : f32[1, 1, 1, 4] ~u16
  input %k_cache_0 : f32[1, 1, 4, 3] ~u16
  const %w : f32[4, 8]
  %linear = aten.linear(%x, %w) : f32[1, 1, 1, 4] ~u16
  %heads = aten.transpose(%linear) {dim0=1, dim1=2} : f32[1, 1, 1, 4] ~u16
  %x1 = aten.slice(%heads) {dim=3, start=0, end=1} : f32[1, 1, 1, 1] ~u16
  %x2 = aten.slice(%heads) {dim=3, start=1, end=2} : f32[1, 1, 1, 1] ~u16
  %low = aten.mul(%x1, %cos) : f32[1, 1, 1, 1] ~u16
  %high = aten.mul(%x2, %cos) : f32[1, 1, 1, 1] ~u16
  %rest = aten.slice(%heads) {dim=3, start=2, end=4} : f32[1, 1, 1, 2] ~u16
  %k = aten.cat(%low, %high, %rest) {dim=3} : f32[1, 1, 1, 4] ~u16
  %k_new = aten.transpose(%k) {dim0=2, dim1=3} : f32[1, 1, 4, 1] ~u16
  %all = aten.cat(%k_cache_0, %k_new) {dim=3} : f32[1, 1, 4, 4] ~u16
  %scores = aten.matmul(%q, %all) : f32[1, 1, 1, 4] ~u16
  output scores = %scores
  output k_new_0 = %k_new
)",
                             annotate_kv_8bit),
            R"(graph decode ar=1 cl=4
  input %x : f32[1, 1, 1, 8] ~u16
  input %cos : f32[1, 1, 1, 1] ~u16
  input %q : f32[1, 1, 1, 4] ~u16
  input %k_cache_0 : f32[1, 1, 4, 3] ~u8:symmetric
  const %w : f32[4, 8]
  %linear = aten.linear(%x, %w) : f32[1, 1, 1, 4] ~u16
  %heads = aten.transpose(%linear) {dim0=1, dim1=2} : f32[1, 1, 1, 4] ~u16
  %x1 = aten.slice(%heads) {dim=3, start=0, end=1} : f32[1, 1, 1, 1] ~u16
  %x2 = aten.slice(%heads) {dim=3, start=1, end=2} : f32[1, 1, 1, 1] ~u16
  %low = aten.mul(%x1, %cos) : f32[1, 1, 1, 1] ~u16>u8:symmetric
  %high = aten.mul(%x2, %cos) : f32[1, 1, 1, 1] ~u16>u8:symmetric
  %rest = aten.slice(%heads) {dim=3, start=2, end=4} : f32[1, 1, 1, 2] ~u16>u8:symmetric
  %k = aten.cat(%low, %high, %rest) {dim=3} : f32[1, 1, 1, 4] ~u8:symmetric
  %k_new = aten.transpose(%k) {dim0=2, dim1=3} : f32[1, 1, 4, 1] ~u8:symmetric
  %all = aten.cat(%k_cache_0, %k_new) {dim=3} : f32[1, 1, 4, 4] ~u8:symmetric
  %scores = aten.matmul(%q, %all) : f32[1, 1, 1, 4] ~u16
  output scores = %scores
  output k_new_0 = %k_new
)");
}

TEST(annotate_kv_8bit, AProductWithAConstantIsNotAttention) {
  constexpr const char* kText = R"(graph decode ar=1 cl=1
  input %y : f32[1, 4, 2] ~u16
  const %basis : f32[1, 2, 2] ~u16
  %row = aten.reshape(%basis) {sizes=[1, 2, 2]} : f32[1, 2, 2] ~u16
  %a = aten.matmul(%y, %row) : f32[1, 4, 2] ~u16
  output out = %a
)";
  EXPECT_EQ(test::after_pass(kText, annotate_kv_8bit), kText);
}

TEST(annotate_kv_8bit, LeavesSixteenBitCachesAlone) {
  constexpr const char* kText = R"(graph decode ar=1 cl=4
  input %q : f32[1, 1, 1, 4] ~u16
  input %k : f32[1, 1, 4, 4] ~u16
  %scores = aten.matmul(%q, %k) : f32[1, 1, 1, 4] ~u16
  output scores = %scores
)";
  EXPECT_EQ(test::after_pass(kText, annotate_kv_8bit, {.kv_bits = 16}), kText);
}

}  // namespace
}  // namespace lathe
