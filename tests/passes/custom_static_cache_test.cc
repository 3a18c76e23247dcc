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

// Two layers of one head of dimension 8: the first attends a window of the last W tokens, the
// second all. 1 token, context 16. Masks are reduced to the conditions that make them.
std::string two_layers(int64_t window) {
  std::string text = R"(
    graph decode ar=1 cl=16
    input %input_ids : i64[1, 1]
    input %slots : i64[1]
    input %query : i64[1, 1, 1, 1]
    input %key : i64[1, 1, 1, 16]
    input %zero : f32[]
    input %keys_0 : f32[1, 1, 16, 8]
    input %values_0 : f32[1, 1, 16, 8]
    input %keys_1 : f32[1, 1, 16, 8]
    input %values_1 : f32[1, 1, 16, 8]
    const %table : f32[32, 8]
    %x = aten.embedding(%table, %input_ids)
    %q = aten.unsqueeze(%x) {dim=1}
    %past = aten.le(%key, %query)
    %begin = aten.sub(%query) {other=WINDOW}
    %gt = aten.gt(%key, %begin)
    %inside = aten.__and__(%gt, %past)
    %near = aten.where(%inside, %zero) {other=-100.0}
    %all = aten.where(%past, %zero) {other=-100.0}
    %key_cache_0 = aten.index_copy_(%keys_0, %slots, %q) {dim=2} @ layers.0
    %value_cache_0 = aten.index_copy_(%values_0, %slots, %q) {dim=2} @ layers.0
    %transpose_0 = aten.transpose(%key_cache_0) {dim0=2, dim1=3}
    %scores_0 = aten.matmul(%q, %transpose_0)
    %masked_0 = aten.add(%scores_0, %near)
    %weights_0 = aten.softmax(%masked_0) {dim=-1}
    %h = aten.matmul(%weights_0, %value_cache_0)
    %key_cache_1 = aten.index_copy_(%keys_1, %slots, %h) {dim=2} @ layers.1
    %value_cache_1 = aten.index_copy_(%values_1, %slots, %h) {dim=2} @ layers.1
    %transpose_1 = aten.transpose(%key_cache_1) {dim0=2, dim1=3}
    %scores_1 = aten.matmul(%h, %transpose_1)
    %masked_1 = aten.add(%scores_1, %all)
    %weights_1 = aten.softmax(%masked_1) {dim=-1}
    %y = aten.matmul(%weights_1, %value_cache_1)
    output layers.0.keys = %key_cache_0
    output layers.0.values = %value_cache_0
    output layers.1.keys = %key_cache_1
    output layers.1.values = %value_cache_1
    output logits = %y)";
  text.replace(text.find("WINDOW"), 6, std::to_string(window));
  return text;
}

TEST(custom_static_cache, ASlidingLayerHasAsManySlotsAsItsWindow) {
  Graph graph = parse_graph(two_layers(4));
  custom_static_cache(graph);
  verify(graph);
  EXPECT_EQ(print_graph(graph), R"(graph decode ar=1 cl=16 w=4
  input %tokens : i32[1, 1]
  input %attention_mask : f32[1, 1, 1, 16]
  input %window_attention_mask : f32[1, 1, 1, 5]
  input %k_cache_0 : f32[1, 1, 8, 4]
  input %k_cache_1 : f32[1, 1, 8, 15]
  input %v_cache_0 : f32[1, 1, 4, 8]
  input %v_cache_1 : f32[1, 1, 15, 8]
  const %table : f32[32, 8]
  %x = aten.embedding(%table, %tokens) : f32[1, 1, 8]
  %q = aten.unsqueeze(%x) {dim=1} : f32[1, 1, 1, 8]
  %cat_1 = aten.cat(%v_cache_0, %q) {dim=2} : f32[1, 1, 5, 8] @ layers.0
  %transpose = aten.transpose(%q) {dim0=2, dim1=3} : f32[1, 1, 8, 1] @ layers.0
  %cat = aten.cat(%k_cache_0, %transpose) {dim=3} : f32[1, 1, 8, 5] @ layers.0
  %scores_0 = aten.matmul(%q, %cat) : f32[1, 1, 1, 5]
  %masked_0 = aten.add(%scores_0, %window_attention_mask) : f32[1, 1, 1, 5]
  %weights_0 = aten.softmax(%masked_0) {dim=-1} : f32[1, 1, 1, 5]
  %h = aten.matmul(%weights_0, %cat_1) : f32[1, 1, 1, 8]
  %cat_3 = aten.cat(%v_cache_1, %h) {dim=2} : f32[1, 1, 16, 8] @ layers.1
  %transpose_1 = aten.transpose(%h) {dim0=2, dim1=3} : f32[1, 1, 8, 1] @ layers.1
  %cat_2 = aten.cat(%k_cache_1, %transpose_1) {dim=3} : f32[1, 1, 8, 16] @ layers.1
  %scores_1 = aten.matmul(%h, %cat_2) : f32[1, 1, 1, 16]
  %masked_1 = aten.add(%scores_1, %attention_mask) : f32[1, 1, 1, 16]
  %weights_1 = aten.softmax(%masked_1) {dim=-1} : f32[1, 1, 1, 16]
  %y = aten.matmul(%weights_1, %cat_3) : f32[1, 1, 1, 8]
  output logits = %y
  output k_new_0 = %transpose
  output k_new_1 = %transpose_1
  output v_new_0 = %q
  output v_new_1 = %h
)");
}

TEST(custom_static_cache, AWindowAsLongAsTheContextIsNone) {
  Graph graph = parse_graph(two_layers(16));
  custom_static_cache(graph);
  verify(graph);
  EXPECT_EQ(graph.window(), 0);
  EXPECT_THAT(print_graph(graph), testing::Not(testing::HasSubstr("window_attention_mask")));
  EXPECT_EQ(graph.value(graph.find("k_cache_0")).shape, (Shape{1, 1, 8, 15}));
  EXPECT_EQ(graph.value(graph.find("k_cache_1")).shape, (Shape{1, 1, 8, 15}));
}

TEST(custom_static_cache, RefusesWindowsOfSeveralSizes) {
  std::string text = two_layers(4);
  text.replace(text.find("    %all = aten.where(%past"), 27,
               "    %later = aten.sub(%query) {other=8}\n"
               "    %gt_1 = aten.gt(%key, %later)\n"
               "    %all = aten.where(%gt_1");
  Graph graph = parse_graph(text);
  try {
    custom_static_cache(graph);
    FAIL() << "was accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("several sizes: found 4 and 8"));
  }
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
