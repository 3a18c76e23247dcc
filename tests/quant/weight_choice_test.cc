#include "quant/weight_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "graph/head_rotation.h"
#include "graph/text.h"
#include "support/expect_error.h"

namespace lathe {
namespace {

/// 16-bit activations, 8-bit weights but for what `rules` say.
Recipe recipe_with(const std::string& rules) {
  return parse_recipe(R"({"name": "r", "dtype": "16a8w", "kv_bits": 8, "rules": [)" + rules + "]}",
                      "mine.json");
}

/// Products in both of their forms, and one of two activations.
Graph three_weights() {
  return parse_graph(R"(graph decode ar=1 cl=4
  input %x : f32[1, 48]
  const %w : f32[48, 48]
  const %c : f32[20, 48, 1, 1]
  const %h : f32[96, 20]
  %q = aten.linear(%x, %w) @ model.layers.0.q_proj
  %m = aten.matmul(%q, %w) @ model.layers.0
  %r = aten.reshape(%m) {sizes=[1, 48, 1, 1]} @ model.layers.0.v_proj
  %v = aten.conv2d(%r, %c) @ model.layers.0.v_proj
  %t = aten.reshape(%v) {sizes=[1, 20]} @ model.layers.0.v_proj
  %y = aten.linear(%t, %h) @ lm_head
  output logits = %y
)");
}

TEST(ChooseWeights, HighestPriorityWinsAndTheLaterOfTwo) {
  const Recipe recipe = recipe_with(R"(
        {"match": {"module": "layers"}, "dtype": "16a4w", "priority": 2},
        {"match": {"module": "v_proj"}, "dtype": "16a8w"},
        {"match": {"op": "linear", "module": "q_proj$"}, "dtype": "16a4w_block", "block": 16,
         "priority": 2})");
  const std::vector<WeightChoice> choices = choose_weights(recipe, three_weights());
  ASSERT_EQ(choices.size(), 3u);
  EXPECT_EQ(choices[0].rule, 2);  // q_proj: rules 0 and 2 tie, the later wins
  EXPECT_EQ(choices[0].format, (WeightFormat{DType::i4, 16}));
  EXPECT_EQ(choices[1].rule, 0);  // v_proj: rule 0 is above rule 1
  EXPECT_EQ(choices[1].format, (WeightFormat{DType::i4}));
  EXPECT_EQ(choices[2].rule, -1);  // lm_head: the default
  EXPECT_EQ(choices[2].module, "lm_head");
  EXPECT_EQ(choices[2].format, (WeightFormat{DType::i8}));
}

TEST(ChooseWeights, LinearAndConv2dMeanTheSameProduct) {
  for (const char* op : {"linear", "conv2d"}) {
    const Recipe recipe =
        recipe_with(std::string(R"({"match": {"op": ")") + op + R"("}, "dtype": "16a4w"})");
    for (const WeightChoice& choice : choose_weights(recipe, three_weights())) {
      EXPECT_EQ(choice.format, (WeightFormat{DType::i4})) << op << " " << choice.module;
    }
  }
}

TEST(ChooseWeights, RefusesARuleThatMatchesNothing) {
  const Recipe recipe = recipe_with(R"({"match": {"module": "query_proj"}, "dtype": "16a8w"})");
  testing::expect_error([&] { choose_weights(recipe, three_weights()); },
                        {"recipe r: $.rules[0]", "matches no weight", "query_proj"});
}

TEST(ChooseWeights, RefusesBlocksThatDoNotDivideAWeight) {
  const Recipe recipe =
      recipe_with(R"({"match": {"op": "linear"}, "dtype": "16a4w_block", "block": 16})");
  testing::expect_error([&] { choose_weights(recipe, three_weights()); },
                        {"lm_head", "a multiple of 16", "found 20"});
}

/// Queries of 12 numbers, rotated in one form of a graph and in the other.
Graph rotated_queries() {
  Graph graph = parse_graph(R"(graph decode ar=1 cl=4
  input %x : f32[1, 32]
  const %w : f32[12, 32]
  %q = aten.linear(%x, %w) @ layers.0.self_attn.q_proj
  %r = aten.reshape(%q) {sizes=[1, 12, 1, 1]} @ layers.0.self_attn
)");
  const auto rotate = [&](const char* x, Op op, Shape shape) {
    const ValueId matrix =
        graph.add_constant("head_rotation", DType::f32, std::move(shape), head_rotation(12));
    graph.append({.op = op, .inputs = {graph.find(x), matrix}, .module = "layers.0.self_attn"});
  };
  rotate("q", Op::linear, {12, 12});
  rotate("r", Op::conv2d, {12, 12, 1, 1});
  return graph;
}

TEST(ChooseWeights, ARotationOfHeadsIsAskedOfNoRule) {
  const Recipe recipe =
      recipe_with(R"({"match": {"module": "self_attn"}, "dtype": "16a4w_block", "block": 32})");
  const std::vector<WeightChoice> choices = choose_weights(recipe, rotated_queries());
  ASSERT_EQ(choices.size(), 3u);
  EXPECT_EQ(choices[0].format, (WeightFormat{DType::i4, 32}));
  EXPECT_FALSE(choices[0].fixed);
  for (const size_t rotation : {1, 2}) {  // 12 columns: no whole block
    EXPECT_EQ(choices[rotation].format, (WeightFormat{DType::i8}));
    EXPECT_EQ(choices[rotation].rule, -1);
    EXPECT_TRUE(choices[rotation].fixed);
  }
  EXPECT_THAT(explain(recipe, choices),
              ::testing::HasSubstr("layers.0.self_attn         [12, 12]        i8 per channel      "
                                   "fixed: the rotation of r3\n"));
  EXPECT_THAT(formats_of(choices), ::testing::SizeIs(3));
}

TEST(ChooseWeights, ARuleThatMatchesARotationAloneMatchesNothing) {
  const Recipe recipe = recipe_with(R"({"match": {"module": "self_attn$"}, "dtype": "16a4w"})");
  testing::expect_error([&] { choose_weights(recipe, rotated_queries()); },
                        {"recipe r: $.rules[0]", "matches no weight", "self_attn$"});
}

TEST(ChooseWeights, ListsProductsWithOtherActivations) {
  const Recipe recipe = recipe_with(R"(
        {"match": {"module": "q_proj$"}, "dtype": "16a4w"},
        {"match": {"module": "v_proj"}, "dtype": "8a4w", "symmetric": true})");
  const std::vector<WeightChoice> choices = choose_weights(recipe, three_weights());
  EXPECT_EQ(other_activations(recipe, choices),
            (std::map<NodeId, QuantSpec>{{choices[1].node, {DType::u8, Scheme::symmetric}}}));
  EXPECT_EQ(explain(recipe, choices),
            "model.layers.0.q_proj  [48, 48]        i4 per channel                            "
            "rule 0 'q_proj$'\n"
            "model.layers.0.v_proj  [20, 48, 1, 1]  i4 per channel, activations u8:symmetric  "
            "rule 1 'v_proj'\n"
            "lm_head                [96, 20]        i8 per channel                            "
            "default\n");
}

TEST(Explain, PrintsWhichRuleEachWeightGot) {
  const Recipe recipe = recipe_with(R"(
        {"match": {"module": "q_proj$"}, "dtype": "16a4w_block", "block": 16},
        {"match": {"module": "v_proj"}, "dtype": "16a4w", "notes": "small"})");
  EXPECT_EQ(explain(recipe, choose_weights(recipe, three_weights())),
            "model.layers.0.q_proj  [48, 48]        i4 in blocks of 16  rule 0 'q_proj$'\n"
            "model.layers.0.v_proj  [20, 48, 1, 1]  i4 per channel      rule 1 'v_proj': small\n"
            "lm_head                [96, 20]        i8 per channel      default\n");
}

}  // namespace
}  // namespace lathe
