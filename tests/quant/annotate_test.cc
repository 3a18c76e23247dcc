#include "quant/annotate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "graph/text.h"
#include "quant/convert.h"
#include "quant/one_layer.h"
#include "quant/recipe_library.h"
#include "support/error.h"

namespace lathe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Recipe recipe_with_kv(int bits) {
  Recipe recipe = load_recipe("default-16a8w");
  recipe.kv_bits = bits;
  return recipe;
}

int32_t group(const Graph& graph, const Annotation& annotation, const std::string& name) {
  return annotation.groups.of(graph.find(name));
}

GroupKind kind(const Graph& graph, const Annotation& annotation, const std::string& name) {
  return annotation.kinds.at(static_cast<size_t>(group(graph, annotation, name)));
}

std::vector<std::string> names(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<std::string> out;
  for (const ValueId id : ids) out.push_back(graph.value(id).name);
  return out;
}

std::vector<std::string> members(const Graph& graph, const Annotation& annotation,
                                 const std::string& name) {
  return names(graph, annotation.groups.members(group(graph, annotation, name)));
}

constexpr const char* kValuePath = R"(graph decode ar=1 cl=4
  input %x : f32[1, 1, 8]
  input %v_cache_0 : f32[1, 1, 3, 4]
  input %p : f32[1, 1, 1, 4]
  const %w : f32[4, 8]
  %v = aten.linear(%x, %w) : f32[1, 1, 4] @ layers.0.v_proj
  %heads = aten.view(%v) {sizes=[1, 1, 1, 4]} : f32[1, 1, 1, 4] @ layers.0
  %rows = aten.transpose(%heads) {dim0=1, dim1=2} : f32[1, 1, 1, 4] @ layers.0
  %all = aten.cat(%v_cache_0, %rows) {dim=2} : f32[1, 1, 4, 4] @ layers.0
  %mixed = aten.matmul(%p, %all) : f32[1, 1, 1, 4] @ layers.0
  output out = %mixed
  output v_new_0 = %rows
)";

TEST(Annotate, RequantizesValuesDirectlyBehindTheirProducer) {
  Graph graph = parse_graph(kValuePath);
  annotate(graph, recipe_with_kv(8));
  EXPECT_EQ(print_graph(graph), R"(graph decode ar=1 cl=4
  input %x : f32[1, 1, 8]
  input %v_cache_0 : f32[1, 1, 3, 4]
  input %p : f32[1, 1, 1, 4]
  const %w : f32[4, 8]
  %v = aten.linear(%x, %w) : f32[1, 1, 4] @ layers.0.v_proj
  %requantize = lathe.requantize(%v) : f32[1, 1, 4] @ layers.0.v_proj
  %heads = aten.view(%requantize) {sizes=[1, 1, 1, 4]} : f32[1, 1, 1, 4] @ layers.0
  %rows = aten.transpose(%heads) {dim0=1, dim1=2} : f32[1, 1, 1, 4] @ layers.0
  %all = aten.cat(%v_cache_0, %rows) {dim=2} : f32[1, 1, 4, 4] @ layers.0
  %mixed = aten.matmul(%p, %all) : f32[1, 1, 1, 4] @ layers.0
  output out = %mixed
  output v_new_0 = %rows
)");
}

TEST(Annotate, TwiceIsAsOnce) {
  Graph graph = parse_graph(kValuePath);
  annotate(graph, recipe_with_kv(8));
  const std::string once = print_graph(graph);
  annotate(graph, recipe_with_kv(8));
  EXPECT_EQ(print_graph(graph), once);
}

TEST(Annotate, LeavesTheGraphAloneWhereKeysAndValuesHave16Bits) {
  Graph graph = parse_graph(kValuePath);
  const Annotation annotation = annotate(graph, recipe_with_kv(16));
  EXPECT_EQ(print_graph(graph), print_graph(parse_graph(kValuePath)));
  EXPECT_THAT(members(graph, annotation, "v"),
              ElementsAre("v_cache_0", "v", "heads", "rows", "all"));
  EXPECT_EQ(kind(graph, annotation, "v"), GroupKind::keys_or_values);
}

TEST(Annotate, OtherReadersOfAProducerKeepItsNumbers) {
  Graph graph = parse_graph(R"(graph decode ar=1 cl=1
  input %x : f32[2, 2]
  input %p : f32[2, 2]
  const %w : f32[2, 2]
  %v = aten.linear(%x, %w)
  %mixed = aten.matmul(%p, %v)
  %sum = aten.add(%mixed, %v)
  output out = %sum
)");
  annotate(graph, recipe_with_kv(8));
  const Node& mixed = *graph.producer(graph.find("mixed"));
  const Node& sum = *graph.producer(graph.find("sum"));
  EXPECT_EQ(graph.producer(mixed.inputs[1])->op, Op::requantize);
  EXPECT_EQ(sum.inputs[1], graph.find("v"));
}

TEST(Annotate, AProductWithAConstantIsNotAttention) {
  Graph graph = parse_graph(R"(graph decode ar=1 cl=1
  input %x : f32[1, 4, 1]
  input %y : f32[1, 1, 2]
  const %frequency : f32[1, 4, 1]
  %row = aten.reshape(%y) {sizes=[1, 1, 2]}
  %a = aten.matmul(%frequency, %row)
  output out = %a
)");
  const Annotation annotation = annotate(graph, recipe_with_kv(8));
  EXPECT_EQ(kind(graph, annotation, "row"), GroupKind::activation);
}

// Seen on the whole layer.
class AnnotatedLayer : public testing::Test {
 protected:
  Graph graph_ = test::one_layer(GraphRole::decode, 1, 16);
  Annotation annotation_ = annotate(graph_, recipe_with_kv(8));
};

TEST_F(AnnotatedLayer, KeysShareOneEncodingFromTheRotationOn) {
  EXPECT_THAT(members(graph_, annotation_, "k_cache_0"),
              ElementsAre("k_cache_0", "k_new", "k_all", "k_group", "k_expand", "k_repeat",
                          "requantize_1"));
  EXPECT_EQ(kind(graph_, annotation_, "k_new"), GroupKind::keys_or_values);
  EXPECT_EQ(graph_.producer(graph_.find("requantize_1"))->inputs[0], graph_.find("k_rope"));
  EXPECT_THAT(members(graph_, annotation_, "k_rope"), ElementsAre("k_rope"));
}

TEST_F(AnnotatedLayer, ValuesShareOneEncodingFromTheProjectionOn) {
  EXPECT_THAT(members(graph_, annotation_, "v_cache_0"),
              ElementsAre("v_cache_0", "v_view", "v_heads", "v_all", "v_group", "v_expand",
                          "v_repeat", "requantize"));
  EXPECT_THAT(members(graph_, annotation_, "v"), ElementsAre("v"));
}

TEST_F(AnnotatedLayer, QueriesAndTheirRotatedHalvesShareOneEncoding) {
  EXPECT_THAT(members(graph_, annotation_, "q"),
              ElementsAre("q", "q_view", "q_heads", "q_low", "q_high", "q_neg", "q_half"));
  EXPECT_THAT(names(graph_, annotation_.groups.sources(group(graph_, annotation_, "q"))),
              ElementsAre("q", "q_neg"));
  EXPECT_EQ(kind(graph_, annotation_, "q"), GroupKind::activation);
}

TEST_F(AnnotatedLayer, FixedEncodingsAndTablesAreFound) {
  EXPECT_EQ(kind(graph_, annotation_, "attention_mask"), GroupKind::mask);
  EXPECT_EQ(kind(graph_, annotation_, "weights"), GroupKind::unit);
  EXPECT_THAT(members(graph_, annotation_, "cos"), ElementsAre("cos_table", "cos_rows", "cos"));
  EXPECT_EQ(kind(graph_, annotation_, "cos"), GroupKind::rotary);
  EXPECT_EQ(kind(graph_, annotation_, "sin_table"), GroupKind::rotary);
  EXPECT_EQ(kind(graph_, annotation_, "embed"), GroupKind::activation);
  EXPECT_THAT(members(graph_, annotation_, "embed"), ElementsAre("embed", "hidden"));
  EXPECT_EQ(group(graph_, annotation_, "tokens"), kNone);
  EXPECT_EQ(group(graph_, annotation_, "wq"), kNone);
}

TEST_F(AnnotatedLayer, ATiedWeightBecomesAValueOfItsOwn) {
  const Node& head = *graph_.producer(graph_.find("logits"));
  EXPECT_NE(head.inputs[1], graph_.find("embed"));
  EXPECT_EQ(graph_.value(head.inputs[1]).constant, graph_.value(graph_.find("embed")).constant);
}

TEST_F(AnnotatedLayer, EveryRoleGetsTheSameNodes) {
  Graph prefill = test::one_layer(GraphRole::prefill, 4, 16);
  Graph calibrate = test::one_layer(GraphRole::calibrate, 6, 6);
  annotate(prefill, recipe_with_kv(8));
  annotate(calibrate, recipe_with_kv(8));
  EXPECT_NO_THROW(require_same_structure(graph_, prefill));
  EXPECT_NO_THROW(require_same_structure(graph_, calibrate));
}

TEST(Annotate, RefusesAMaskJoinedWithOtherValues) {
  Graph graph = parse_graph(R"(graph decode ar=1 cl=1
  input %attention_mask : f32[1, 2]
  input %x : f32[1, 2]
  %both = aten.cat(%attention_mask, %x) {dim=1}
  output out = %both
)");
  try {
    annotate(graph, recipe_with_kv(8));
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("attention_mask"));
  }
}

TEST(Annotate, RequantizesProbabilitiesThatJoinOtherNumbers) {
  Graph graph = parse_graph(R"(graph decode ar=1 cl=1
  input %x : f32[1, 2]
  %p = aten.softmax(%x) {dim=-1}
  %both = aten.cat(%p, %x) {dim=1}
  output out = %both
)");
  const Annotation annotation = annotate(graph, recipe_with_kv(8));
  EXPECT_EQ(kind(graph, annotation, "p"), GroupKind::unit);
  EXPECT_THAT(members(graph, annotation, "both"), ElementsAre("x", "both", "requantize"));
  EXPECT_EQ(kind(graph, annotation, "both"), GroupKind::activation);
}

}  // namespace
}  // namespace lathe
