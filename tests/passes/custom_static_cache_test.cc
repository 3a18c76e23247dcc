#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/text.h"
#include "graph/verifier.h"
#include "passes/pass.h"
#include "support/error.h"

namespace lathe {
namespace {

// One layer with 4 query heads over 2 key-value heads of dimension 8: 1 token, context 16.
constexpr const char* kBefore = R"(
  graph decode ar=1 cl=16
  input %input_ids : i64[1, 1]
  input %slots : i64[1]
  input %mask : f32[1, 1, 1, 16]
  input %keys : f32[1, 2, 16, 8]
  input %values : f32[1, 2, 16, 8]
  const %table : f32[32, 8]
  %embedding = aten.embedding(%table, %input_ids)
  %unsqueeze = aten.unsqueeze(%embedding) {dim=1}
  %q = aten.expand(%unsqueeze) {sizes=[1, 4, 1, 8]}
  %k = aten.expand(%unsqueeze) {sizes=[1, 2, 1, 8]}
  %v = aten.neg(%k)
  %index_copy_ = aten.index_copy_(%keys, %slots, %k) {dim=2} @ self_attn
  %index_copy__1 = aten.index_copy_(%values, %slots, %v) {dim=2} @ self_attn
  %unsqueeze_1 = aten.unsqueeze(%index_copy_) {dim=2}
  %expand = aten.expand(%unsqueeze_1) {sizes=[1, 2, 2, 16, 8]}
  %reshape = aten.reshape(%expand) {sizes=[1, 4, 16, 8]}
  %unsqueeze_2 = aten.unsqueeze(%index_copy__1) {dim=2}
  %expand_1 = aten.expand(%unsqueeze_2) {sizes=[1, 2, 2, 16, 8]}
  %reshape_1 = aten.reshape(%expand_1) {sizes=[1, 4, 16, 8]}
  %transpose = aten.transpose(%reshape) {dim0=2, dim1=3}
  %matmul = aten.matmul(%q, %transpose)
  %mul = aten.mul(%matmul) {other=0.25}
  %add = aten.add(%mul, %mask)
  %softmax = aten.softmax(%add) {dim=-1}
  %matmul_1 = aten.matmul(%softmax, %reshape_1)
  output layers.0.keys = %index_copy_
  output layers.0.values = %index_copy__1
  output logits = %matmul_1)";

TEST(custom_static_cache, WholeCachesBecomeInputsAndNewPairs) {
  Graph graph = parse_graph(kBefore);
  custom_static_cache(graph);
  verify(graph);
  EXPECT_EQ(
      print_graph(graph),
      "graph decode ar=1 cl=16\n"
      "  input %tokens : i32[1, 1]\n"
      "  input %attention_mask : f32[1, 1, 1, 16]\n"
      "  input %k_cache_0 : f32[1, 2, 8, 15]\n"
      "  input %v_cache_0 : f32[1, 2, 15, 8]\n"
      "  const %table : f32[32, 8]\n"
      "  %embedding = aten.embedding(%table, %tokens) : f32[1, 1, 8]\n"
      "  %unsqueeze = aten.unsqueeze(%embedding) {dim=1} : f32[1, 1, 1, 8]\n"
      "  %q = aten.expand(%unsqueeze) {sizes=[1, 4, 1, 8]} : f32[1, 4, 1, 8]\n"
      "  %k = aten.expand(%unsqueeze) {sizes=[1, 2, 1, 8]} : f32[1, 2, 1, 8]\n"
      "  %v = aten.neg(%k) : f32[1, 2, 1, 8]\n"
      "  %cat_1 = aten.cat(%v_cache_0, %v) {dim=2} : f32[1, 2, 16, 8] @ self_attn\n"
      "  %unsqueeze_2 = aten.unsqueeze(%cat_1) {dim=2} : f32[1, 2, 1, 16, 8]\n"
      "  %expand_1 = aten.expand(%unsqueeze_2) {sizes=[1, 2, 2, 16, 8]} : f32[1, 2, 2, 16, 8]\n"
      "  %reshape_1 = aten.reshape(%expand_1) {sizes=[1, 4, 16, 8]} : f32[1, 4, 16, 8]\n"
      "  %transpose = aten.transpose(%k) {dim0=2, dim1=3} : f32[1, 2, 8, 1] @ self_attn\n"
      "  %cat = aten.cat(%k_cache_0, %transpose) {dim=3} : f32[1, 2, 8, 16] @ self_attn\n"
      "  %unsqueeze = aten.unsqueeze(%cat) {dim=2} : f32[1, 2, 1, 8, 16] @ self_attn\n"
      "  %expand = aten.expand(%unsqueeze) {sizes=[1, 2, 2, 8, 16]} : f32[1, 2, 2, 8, 16] @ "
      "self_attn\n"
      "  %reshape = aten.reshape(%expand) {sizes=[1, 4, 8, 16]} : f32[1, 4, 8, 16] @ self_attn\n"
      "  %matmul = aten.matmul(%q, %reshape) : f32[1, 4, 1, 16]\n"
      "  %mul = aten.mul(%matmul) {other=0.25} : f32[1, 4, 1, 16]\n"
      "  %add = aten.add(%mul, %attention_mask) : f32[1, 4, 1, 16]\n"
      "  %softmax = aten.softmax(%add) {dim=-1} : f32[1, 4, 1, 16]\n"
      "  %matmul_1 = aten.matmul(%softmax, %reshape_1) : f32[1, 4, 1, 8]\n"
      "  output logits = %matmul_1\n"
      "  output k_new_0 = %transpose\n"
      "  output v_new_0 = %v\n");
}

TEST(custom_static_cache, ACalibrationGraphHasNoPast) {
  std::string text = kBefore;
  text.replace(text.find("decode ar=1"), 11, "calibrate ar=16");
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"%input_ids : i64[1, 1]", "%input_ids : i64[1, 16]"},
           {"%slots : i64[1]", "%slots : i64[16]"},
           {"%mask : f32[1, 1, 1, 16]", "%mask : f32[1, 1, 16, 16]"},
           {"sizes=[1, 4, 1, 8]", "sizes=[1, 4, 16, 8]"},
           {"sizes=[1, 2, 1, 8]", "sizes=[1, 2, 16, 8]"}}) {
    text.replace(text.find(from), from.size(), to);
  }
  Graph graph = parse_graph(text);
  custom_static_cache(graph);
  verify(graph);
  EXPECT_EQ(graph.value(graph.find("k_cache_0")).shape, (Shape{1, 2, 8, 0}));
  EXPECT_EQ(graph.value(graph.find("v_cache_0")).shape, (Shape{1, 2, 0, 8}));
}

TEST(custom_static_cache, RefusesACacheThatIsNotReadByAttention) {
  Graph graph = parse_graph(R"(
    graph decode ar=1 cl=16
    input %slots : i64[1]
    input %keys : f32[1, 2, 16, 8]
    input %k : f32[1, 2, 1, 8]
    %index_copy_ = aten.index_copy_(%keys, %slots, %k) {dim=2} @ model.layers.0.self_attn
    %neg = aten.neg(%index_copy_)
    output y = %neg)");
  try {
    custom_static_cache(graph);
    FAIL() << "was accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("model.layers.0.self_attn"));
  }
}

}  // namespace
}  // namespace lathe
