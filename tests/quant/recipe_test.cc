#include "quant/recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/error.h"

namespace lathe {
namespace {

using testing::AllOf;
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

TEST(Recipe, HoldsEverythingThatIsSpecificToAModel) {
  const Recipe recipe = parse_recipe(
      R"({"name": "mine", "notes": "n", "source": "s",
          "applies_to": {"model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 16},
          "dtype": "16a4w_block", "granularity": "block", "block": 64, "kv_bits": 16,
          "transforms": true, "r3": true, "seq_mse": 50, "masked_softmax": true, "shards": 3,
          "host_embedding": true, "prefill": 128, "rules": [
            {"match": {"op": "linear", "module": "lm_head$"}, "priority": 3, "dtype": "16a8w",
             "granularity": "channel", "symmetric": false, "notes": "the head"},
            {"match": {"module": "v_proj"}, "dtype": "16a4w_block", "block": 16},
            {"match": {"op": "conv2d"}, "dtype": "16a16w"}]})",
      "mine.json");
  EXPECT_EQ(recipe.name, "mine");
  EXPECT_EQ(recipe.notes, "n");
  EXPECT_EQ(recipe.source, "s");
  EXPECT_EQ(recipe.applies_to.model_type, "llama");
  EXPECT_EQ(recipe.applies_to.hidden_size, 2048);
  EXPECT_EQ(recipe.applies_to.num_hidden_layers, 16);
  EXPECT_EQ(recipe.applies_to.vocab_size, 0);
  EXPECT_EQ(recipe.activation, DType::u16);
  EXPECT_EQ(recipe.weight, (WeightFormat{DType::i4, 64}));
  EXPECT_EQ(recipe.kv_bits, 16);
  EXPECT_TRUE(recipe.transforms);
  EXPECT_TRUE(recipe.r3);
  EXPECT_EQ(recipe.seq_mse, 50);
  EXPECT_TRUE(recipe.masked_softmax);
  EXPECT_EQ(recipe.shards, 3);
  EXPECT_TRUE(recipe.host_embedding);
  EXPECT_EQ(recipe.prefill, 128);
  ASSERT_EQ(recipe.rules.size(), 3u);
  EXPECT_EQ(recipe.rules[0].module->expression(), "lm_head$");
  EXPECT_EQ(recipe.rules[0].priority, 3);
  EXPECT_EQ(recipe.rules[0].weight, (WeightFormat{DType::i8}));
  EXPECT_EQ(recipe.rules[0].notes, "the head");
  EXPECT_EQ(recipe.rules[1].priority, 1);
  EXPECT_EQ(recipe.rules[1].weight, (WeightFormat{DType::i4, 16}));
  EXPECT_FALSE(recipe.rules[2].module.has_value());
  EXPECT_EQ(recipe.rules[2].weight, (WeightFormat{DType::i16}));
}

TEST(Recipe, HasDefaultsForMostOfIt) {
  const Recipe recipe = parse_recipe(with(""), "mine.json");
  EXPECT_EQ(recipe.applies_to, RecipeFacts{});
  EXPECT_EQ(recipe.weight, (WeightFormat{DType::i8}));
  EXPECT_FALSE(recipe.transforms);
  EXPECT_FALSE(recipe.r3);
  EXPECT_FALSE(recipe.masked_softmax);
  EXPECT_EQ(recipe.seq_mse, 0);
  EXPECT_EQ(recipe.shards, 1);
  EXPECT_FALSE(recipe.host_embedding);
  EXPECT_EQ(recipe.prefill, std::nullopt);
  EXPECT_TRUE(recipe.rules.empty());
}

struct DtypeCase {
  const char* members;
  DType activation;
  WeightFormat weight;
};

class RecipeDtypes : public testing::TestWithParam<DtypeCase> {};

TEST_P(RecipeDtypes, NameTheBitsOfActivationsAndWeights) {
  const Recipe recipe = parse_recipe(
      std::string(R"({"name": "r", "kv_bits": 8, )") + GetParam().members + "}", "mine.json");
  EXPECT_EQ(recipe.activation, GetParam().activation);
  EXPECT_EQ(recipe.weight, GetParam().weight);
}

INSTANTIATE_TEST_SUITE_P(
    All, RecipeDtypes,
    testing::Values(
        DtypeCase{R"("dtype": "8a8w")", DType::u8, {DType::i8}},
        DtypeCase{R"("dtype": "8a4w")", DType::u8, {DType::i4}},
        DtypeCase{R"("dtype": "16a8w", "granularity": "channel")", DType::u16, {DType::i8}},
        DtypeCase{R"("dtype": "16a4w")", DType::u16, {DType::i4}},
        DtypeCase{R"("dtype": "16a4w_block", "block": 16)", DType::u16, {DType::i4, 16}},
        DtypeCase{R"("dtype": "16a4w_block", "granularity": "block", "block": 32)",
                  DType::u16,
                  {DType::i4, 32}},
        DtypeCase{R"("dtype": "16a16w")", DType::u16, {DType::i16}}));

TEST(Recipe, RefusesWhatItDoesNotKnowByPath) {
  EXPECT_THAT(message("{"), HasSubstr("mine.json"));
  EXPECT_THAT(message("[]"), HasSubstr("mine.json: $"));
  EXPECT_THAT(message(R"({"name": "r", "dtype": "16a8w"})"), HasSubstr("kv_bits"));
  EXPECT_THAT(message(with(R"(, "kv_bits": 8)")), HasSubstr("kv_bits"));  // given twice
  EXPECT_THAT(message(with(R"(, "kvbits": 8)")), HasSubstr("kvbits"));
  EXPECT_THAT(message(with(R"(, "granularity": "blok")")),
              AllOf(HasSubstr("$: granularity"), HasSubstr("blok")));
  EXPECT_THAT(message(with(R"(, "rules": {})")), HasSubstr("$: rules"));
  EXPECT_THAT(message(R"({"name": "r", "dtype": "16a3w", "kv_bits": 8})"),
              AllOf(HasSubstr("$: dtype"), HasSubstr("one of 8a8w"), HasSubstr("16a3w")));
  EXPECT_THAT(message(R"({"name": "r", "dtype": "16a8w", "kv_bits": 12})"),
              AllOf(HasSubstr("$: kv_bits"), HasSubstr("12")));
  EXPECT_THAT(message(R"({"name": 5, "dtype": "16a8w", "kv_bits": 8})"), HasSubstr("$: name"));
  EXPECT_THAT(message(with(R"(, "seq_mse": -1)")), HasSubstr("$: seq_mse"));
  EXPECT_THAT(message(with(R"(, "shards": 0)")), HasSubstr("$: shards"));
  EXPECT_THAT(message(with(R"(, "prefill": 1.5)")), HasSubstr("$: prefill"));
  EXPECT_THAT(message(with(R"(, "r3": 1)")), HasSubstr("$: r3"));
  EXPECT_THAT(message(with(R"(, "applies_to": {"layers": 4})")),
              AllOf(HasSubstr("$.applies_to"), HasSubstr("layers")));
  EXPECT_THAT(message(with(R"(, "applies_to": {"vocab_size": 0})")),
              HasSubstr("$.applies_to: vocab_size"));
  EXPECT_THAT(message(with(R"(, "applies_to": {})")), HasSubstr("$.applies_to"));
}

TEST(Recipe, RefusesPartsThatContradictEachOther) {
  EXPECT_THAT(message(R"({"name": "r", "dtype": "8a8w", "kv_bits": 16})"),
              AllOf(HasSubstr("$: kv_bits"), HasSubstr("8 with 8a8w")));
  EXPECT_THAT(message(with(R"(, "block": 32)")),
              AllOf(HasSubstr("$: block"), HasSubstr("none with 16a8w")));
  EXPECT_THAT(message(with(R"(, "granularity": "block")")),
              AllOf(HasSubstr("$: granularity"), HasSubstr("channel with 16a8w")));
  const auto blocks = [](const std::string& members) {
    return message(R"({"name": "r", "dtype": "16a4w_block", "kv_bits": 8)" + members + "}");
  };
  EXPECT_THAT(blocks(""), HasSubstr("$: block"));
  EXPECT_THAT(blocks(R"(, "block": 24)"), AllOf(HasSubstr("16, 32, 64"), HasSubstr("24")));
  EXPECT_THAT(blocks(R"(, "block": 128)"), HasSubstr("$: block"));
  EXPECT_THAT(blocks(R"(, "block": 32, "granularity": "channel")"),
              HasSubstr("block with 16a4w_block"));
}

TEST(Recipe, ARuleMayHaveOtherActivationsThanTheRest) {
  const Recipe recipe =
      parse_recipe(with_rule(R"({"match": {"module": "v_proj"}, "dtype": "8a4w", "symmetric": true},
                   {"match": {"module": "o_proj"}, "dtype": "16a4w", "symmetric": true},
                   {"match": {"module": "q_proj"}, "dtype": "8a8w"},
                   {"match": {"module": "k_proj"}, "dtype": "16a8w"})"),
                   "mine.json");
  ASSERT_EQ(recipe.rules.size(), 4u);
  EXPECT_EQ(recipe.rules[0].activation, (QuantSpec{DType::u8, Scheme::symmetric}));
  EXPECT_EQ(recipe.rules[1].activation, (QuantSpec{DType::u16, Scheme::symmetric}));
  EXPECT_EQ(recipe.rules[2].activation, (QuantSpec{DType::u8, Scheme::affine}));
  EXPECT_EQ(recipe.rules[3].activation, (QuantSpec{DType::u16, Scheme::affine}));
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
  EXPECT_THAT(message(with_rule(R"({"match": {"module": "a"}, "dtype": "16a8w", "symmetric": 1})")),
              HasSubstr("$.rules[0]: symmetric"));
  EXPECT_THAT(message(with_rule(R"({"match": {"module": "a"}, "dtype": "16a4w_block"})")),
              HasSubstr("$.rules[0]: block"));
  EXPECT_THAT(
      message(with_rule(R"({"match": {"module": "a"}, "dtype": "16a8w", "priority": 1.5})")),
      HasSubstr("$.rules[0]: priority"));
  // Quantifiers that multiply must be refused, not built.
  EXPECT_THAT(
      message(with_rule(R"({"match": {"module": "((a{999}){999}){999}"}, "dtype": "16a8w"})")),
      HasSubstr("$.rules[0].match: module"));
}

}  // namespace
}  // namespace lathe
