#include "quant/recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "graph/text.h"
#include "quant/recipe_library.h"
#include "support/error.h"

namespace lathe {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

std::string message(const std::string& text) {
  try {
    parse_recipe(text, "mine.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

/// A recipe that is right but for what is put at the end of the object.
std::string with(const std::string& members) {
  return R"({"name": "r", "dtype": "16a8w", "kv_bits": 8)" + members + "}";
}

std::string with_rule(const std::string& rule) { return with(R"(, "rules": [)" + rule + "]"); }

TEST(Recipe, DefaultIs16a8wPerChannelWith8BitKeysAndValues) {
  const Recipe recipe = load_recipe("default-16a8w");
  EXPECT_EQ(recipe.name, "default-16a8w");
  EXPECT_EQ(recipe.activation, DType::u16);
  EXPECT_EQ(recipe.kv_bits, 8);
  EXPECT_EQ(recipe.weight, (WeightFormat{DType::i8, Granularity::channel}));
  EXPECT_TRUE(recipe.rules.empty());
  EXPECT_THAT(recipe_names(), Contains("default-16a8w"));
}

TEST(Recipe, HoldsRulesNotesAndSource) {
  const Recipe recipe = parse_recipe(
      R"({"name": "mine", "notes": "n", "source": "s", "dtype": "8a8w", "granularity": "channel",
          "kv_bits": 16, "rules": [
            {"match": {"op": "linear", "module": "lm_head$"}, "priority": 3, "dtype": "8a8w",
             "granularity": "channel", "notes": "the head"},
            {"match": {"module": "v_proj"}, "dtype": "8a8w"}]})",
      "mine.json");
  EXPECT_EQ(recipe.notes, "n");
  EXPECT_EQ(recipe.source, "s");
  EXPECT_EQ(recipe.activation, DType::u8);
  EXPECT_EQ(recipe.kv_bits, 16);
  ASSERT_EQ(recipe.rules.size(), 2u);
  EXPECT_EQ(recipe.rules[0].match.op, Op::linear);
  EXPECT_EQ(recipe.rules[0].match.module->expression(), "lm_head$");
  EXPECT_EQ(recipe.rules[0].priority, 3);
  EXPECT_EQ(recipe.rules[0].notes, "the head");
  EXPECT_EQ(recipe.rules[1].match.op, std::nullopt);
  EXPECT_EQ(recipe.rules[1].priority, 1);
}

TEST(Recipe, RefusesWhatItDoesNotKnowByPath) {
  EXPECT_THAT(message("{"), HasSubstr("mine.json"));
  EXPECT_THAT(message("[]"), HasSubstr("mine.json: $"));
  EXPECT_THAT(message(R"({"name": "r", "dtype": "16a8w"})"), HasSubstr("kv_bits"));
  EXPECT_THAT(message(with(R"(, "kv_bits": 8)")), HasSubstr("kv_bits"));  // given twice
  EXPECT_THAT(message(with(R"(, "kvbits": 8)")), HasSubstr("kvbits"));
  EXPECT_THAT(message(with(R"(, "granularity": "blok")")),
              AllOf(HasSubstr("$: granularity"), HasSubstr("blok")));
  EXPECT_THAT(message(with(R"(, "rules": {})")), HasSubstr("$: rules"));
  EXPECT_THAT(message(R"({"name": "r", "dtype": "16a4w", "kv_bits": 8})"),
              AllOf(HasSubstr("$: dtype"), HasSubstr("16a4w")));
  EXPECT_THAT(message(R"({"name": "r", "dtype": "16a8w", "kv_bits": 12})"),
              AllOf(HasSubstr("$: kv_bits"), HasSubstr("12")));
  EXPECT_THAT(message(R"({"name": 5, "dtype": "16a8w", "kv_bits": 8})"), HasSubstr("$: name"));
}

TEST(Recipe, RefusesRulesByPath) {
  EXPECT_THAT(message(with_rule("3")), HasSubstr("$.rules[0]"));
  EXPECT_THAT(message(with_rule(R"({"dtype": "16a8w"})")), HasSubstr("$.rules[0]: match"));
  EXPECT_THAT(message(with_rule(R"({"match": {}, "dtype": "16a8w"})")),
              HasSubstr("$.rules[0].match"));
  EXPECT_THAT(message(with_rule(R"({"match": {"module": "a"}})")), HasSubstr("$.rules[0]: dtype"));
  EXPECT_THAT(message(with_rule(R"({"match": {"op": "softmax"}, "dtype": "16a8w"})")),
              AllOf(HasSubstr("$.rules[0].match: op"), HasSubstr("softmax")));
  EXPECT_THAT(message(with_rule(R"({"match": {"module": "(lm_head"}, "dtype": "16a8w"})")),
              AllOf(HasSubstr("$.rules[0].match: module"), HasSubstr("(lm_head")));
  EXPECT_THAT(message(with_rule(R"({"match": {"modul": "a"}, "dtype": "16a8w"})")),
              HasSubstr("modul"));
  EXPECT_THAT(message(with_rule(R"({"match": {"module": "a"}, "dtype": "8a8w"})")),
              AllOf(HasSubstr("$.rules[0]: dtype"), HasSubstr("activations as in 16a8w")));
  EXPECT_THAT(
      message(with_rule(R"({"match": {"module": "a"}, "dtype": "16a8w", "priority": 1.5})")),
      HasSubstr("$.rules[0]: priority"));
  // Quantifiers that multiply must be refused, not built.
  EXPECT_THAT(
      message(with_rule(R"({"match": {"module": "((a{999}){999}){999}"}, "dtype": "16a8w"})")),
      HasSubstr("$.rules[0].match: module"));
}

Graph three_products() {
  return parse_graph(R"(graph decode ar=1 cl=4
  input %x : f32[1, 2]
  const %w : f32[2, 2]
  %q = aten.linear(%x, %w) @ model.layers.0.q_proj
  %v = aten.linear(%q, %w) @ model.layers.0.v_proj
  %h = aten.linear(%v, %w) @ lm_head
  output logits = %h
)");
}

TEST(Recipe, HighestPriorityWinsAndTheLaterOfTwo) {
  const Recipe recipe = parse_recipe(with(R"(, "rules": [
        {"match": {"module": "layers"}, "dtype": "16a8w", "priority": 2},
        {"match": {"module": "v_proj"}, "dtype": "16a8w"},
        {"match": {"op": "linear", "module": "q_proj$"}, "dtype": "16a8w", "priority": 2}])"),
                                     "mine.json");
  const std::vector<WeightChoice> choices = choose_weights(recipe, three_products());
  ASSERT_EQ(choices.size(), 3u);
  EXPECT_EQ(choices[0].rule, 2);   // q_proj: rules 0 and 2 tie, the later wins
  EXPECT_EQ(choices[1].rule, 0);   // v_proj: rule 0 is above rule 1
  EXPECT_EQ(choices[2].rule, -1);  // lm_head: the default
  EXPECT_EQ(choices[2].module, "lm_head");
}

TEST(Recipe, RefusesARuleThatMatchesNothing) {
  const Recipe recipe = parse_recipe(
      with_rule(R"({"match": {"module": "query_proj"}, "dtype": "16a8w"})"), "mine.json");
  try {
    choose_weights(recipe, three_products());
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("$.rules[0]"), HasSubstr("query_proj")));
  }
}

TEST(RecipeLibrary, ReadsFilesAndListsNamesForAnUnknownOne) {
  const std::string path = testing::TempDir() + "recipe_test.json";
  std::ofstream(path) << with("");
  EXPECT_EQ(load_recipe(path).name, "r");
  try {
    load_recipe("defualt");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("default-16a8w"), HasSubstr("defualt")));
  }
  EXPECT_THROW(load_recipe("no/such/recipe.json"), Error);
}

}  // namespace
}  // namespace lathe
