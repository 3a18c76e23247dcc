#include "quant/recipe_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "support/expect_error.h"

namespace lathe {
namespace {

using ::testing::Contains;

constexpr WeightFormat kInt8{DType::i8};
constexpr WeightFormat kInt4{DType::i4};
constexpr WeightFormat kInt4Block16{DType::i4, 16};
constexpr WeightFormat kInt4Block32{DType::i4, 32};
constexpr WeightFormat kInt4Block64{DType::i4, 64};

struct Exception {
  std::string module;
  std::string not_module;  // the nearest one that the rule leaves alone
  WeightFormat format;
  QuantSpec activation = {};
};

/// A row of the table of recipes that the models were first published with.
struct TableRow {
  const char* recipe;
  WeightFormat weight;
  std::vector<Exception> exceptions;
  int kv_bits;
  int shards;
  int seq_mse;
  bool r3;
  bool masked_softmax;
  RecipeFacts config;  // as the models' config.json has it
};

void PrintTo(const TableRow& row, std::ostream* out) { *out << row.recipe; }

class RecipeTable : public ::testing::TestWithParam<TableRow> {};

TEST_P(RecipeTable, IsWhatTheFilesSay) {
  const TableRow& row = GetParam();
  const Recipe recipe = load_recipe(row.recipe);
  EXPECT_EQ(recipe.name, row.recipe);
  EXPECT_EQ(recipe.activation, DType::u16);
  EXPECT_EQ(recipe.weight, row.weight);
  EXPECT_EQ(recipe.kv_bits, row.kv_bits);
  EXPECT_EQ(recipe.shards, row.shards);
  EXPECT_EQ(recipe.seq_mse, row.seq_mse);
  EXPECT_EQ(recipe.r3, row.r3);
  EXPECT_EQ(recipe.masked_softmax, row.masked_softmax);
  EXPECT_FALSE(recipe.notes.empty());
  EXPECT_FALSE(recipe.source.empty());
  ASSERT_EQ(recipe.rules.size(), row.exceptions.size());
  for (size_t i = 0; i < recipe.rules.size(); ++i) {
    const Exception& exception = row.exceptions[i];
    EXPECT_EQ(recipe.rules[i].weight, exception.format);
    EXPECT_EQ(recipe.rules[i].activation, exception.activation);
    EXPECT_TRUE(recipe.rules[i].module->is_found_in(exception.module)) << exception.module;
    EXPECT_FALSE(recipe.rules[i].module->is_found_in(exception.not_module)) << exception.not_module;
  }
}

TEST_P(RecipeTable, IsChosenByTheModelsConfig) {
  const RecipeText chosen = choose_recipe(GetParam().config);
  EXPECT_EQ(chosen.where, std::string(GetParam().recipe) + ".json");
  EXPECT_EQ(parse_recipe(chosen.text, chosen.where).name, GetParam().recipe);
}

TEST_P(RecipeTable, IsNotChosenForAModelOfAnotherSize) {
  RecipeFacts config = GetParam().config;
  config.num_hidden_layers += 1;
  EXPECT_EQ(choose_recipe(config).where, "default-16a8w.json");
  config = GetParam().config;
  config.model_type = "olmo2";
  EXPECT_EQ(choose_recipe(config).where, "default-16a8w.json");
}

const Exception kHead{"lm_head", "model.lm_head", kInt8};
const Exception kValues{"model.layers.7.self_attn.v_proj", "model.layers.7.self_attn.k_proj",
                        kInt8};

// Where ours differ from the published table, the recipe's notes say why.
const TableRow kPublished[] = {
    {"stories260k", kInt4, {kHead}, 8, 1, 0, false, false, {"llama", 512, 64, 172, 5, 8, 4}},
    {"stories110m",
     kInt4,
     {{"model.layers.0.self_attn.v_proj",
       "model.layers.0.self_attn.k_proj",
       kInt4,
       {DType::u8, Scheme::symmetric}},
      kHead},
     8,
     1,
     0,
     false,
     false,
     {"llama", 32000, 768, 2048, 12, 12, 12}},
    {"llama3_2-1b",
     kInt4Block32,
     {kHead, {"model.layers.3.mlp.down_proj", "model.layers.4.mlp.down_proj", kInt8}},
     8,
     1,
     50,
     false,
     false,
     {"llama", 128256, 2048, 8192, 16, 32, 8}},
    {"llama3_2-3b",
     kInt4Block32,
     {kHead, {"model.layers.21.mlp.down_proj", "model.layers.20.mlp.down_proj", kInt8}},
     8,
     3,
     0,
     false,
     false,
     {"llama", 128256, 3072, 8192, 28, 24, 8}},
    // Published with 16-bit keys and values and R3.
    {"smollm2-135m", kInt8, {}, 8, 1, 0, false, false, {"llama", 49152, 576, 1536, 30, 9, 3}},
    {"gemma-2b",
     kInt4Block64,
     {kValues, kHead},
     8,
     4,
     0,
     false,
     true,
     {"gemma", 256000, 2048, 16384, 18, 8, 1}},
    {"gemma2-2b",
     kInt4Block32,
     {kValues},
     8,
     4,
     0,
     false,
     true,
     {"gemma2", 256000, 2304, 9216, 26, 8, 4}},
    {"gemma3-1b",
     kInt4Block64,
     {kValues},
     8,
     1,
     0,
     false,
     true,
     {"gemma3_text", 262144, 1152, 6912, 26, 4, 1}},
    {"glm-edge-1_5b",
     kInt4Block32,
     {kHead},
     8,
     1,
     0,
     false,
     false,
     {"glm", 59264, 2048, 6144, 28, 16, 4}},
    {"granite3_3-2b",
     kInt4Block64,
     {kValues},
     8,
     1,
     0,
     false,
     true,
     {"granite", 49159, 2048, 8192, 40, 32, 8}},
    // Published with values from 8-bit activations.
    {"phi4-mini",
     kInt4Block16,
     {kHead},
     8,
     8,
     0,
     false,
     false,
     {"phi3", 200064, 3072, 8192, 32, 24, 8}},
    {"qwen2_5-0_5b",
     kInt4Block16,
     {},
     16,
     1,
     0,
     true,
     true,
     {"qwen2", 151936, 896, 4864, 24, 14, 2}},
    {"qwen2_5-1_5b",
     kInt4Block16,
     {kHead},
     16,
     1,
     0,
     true,
     true,
     {"qwen2", 151936, 1536, 8960, 28, 12, 2}},
    {"qwen3-0_6b",
     kInt4Block32,
     {{"model.layers.27.mlp.down_proj", "model.layers.27.mlp.up_proj", kInt8}},
     16,
     1,
     50,
     false,
     true,
     {"qwen3", 151936, 1024, 3072, 28, 16, 8}},
    {"qwen3-1_7b",
     kInt4Block16,
     {kHead},
     8,
     1,
     0,
     true,
     true,
     {"qwen3", 151936, 2048, 6144, 28, 16, 8}},
    {"smollm3-3b",
     kInt4Block32,
     {{"model.layers.35.self_attn.q_proj", "model.layers.35.self_attn.o_proj", kInt8}, kHead},
     8,
     4,
     0,
     false,
     true,
     {"smollm3", 128256, 2048, 11008, 36, 16, 4}},
};
INSTANTIATE_TEST_SUITE_P(Published, RecipeTable, ::testing::ValuesIn(kPublished));

INSTANTIATE_TEST_SUITE_P(
    BuiltIn, RecipeTable,
    ::testing::Values(TableRow{
        "tiny", kInt8, {}, 8, 1, 0, false, false, {"llama", 1536, 128, 384, 4, 4, 2}}));

// Its weights were trained for 4 bits, which no config says.
TEST(RecipeLibrary, ATrainedModelsRecipeIsOnlyTakenByName) {
  const Recipe recipe = load_recipe("smollm2-135m-qat");
  EXPECT_EQ(recipe.applies_to, RecipeFacts{});
  EXPECT_EQ(recipe.weight, kInt4);
  EXPECT_TRUE(recipe.r3);
  EXPECT_EQ(recipe.kv_bits, 8);
  ASSERT_EQ(recipe.rules.size(), 1u);
  EXPECT_EQ(recipe.rules[0].weight, kInt8);
  EXPECT_TRUE(recipe.rules[0].module->is_found_in("lm_head"));
}

// Phi 3 mini and Phi 4 mini differ in their key-value heads.
TEST(RecipeLibrary, AModelOfOtherHeadsIsAnotherModel) {
  EXPECT_EQ(choose_recipe({"phi3", 32064, 3072, 8192, 32, 32, 32}).where, "default-16a8w.json");
}

TEST(RecipeLibrary, RulesFindFirstAndLastLayerOfTheirs) {
  const auto covers = [](const char* recipe, const std::string& module) {
    return load_recipe(recipe).rules[1].module->is_found_in(module);
  };
  EXPECT_TRUE(covers("llama3_2-1b", "model.layers.0.mlp.down_proj"));
  EXPECT_FALSE(covers("llama3_2-1b", "model.layers.10.mlp.down_proj"));
  EXPECT_FALSE(covers("llama3_2-1b", "model.layers.0.mlp.up_proj"));
  EXPECT_TRUE(covers("llama3_2-3b", "model.layers.27.mlp.down_proj"));
  EXPECT_FALSE(covers("llama3_2-3b", "model.layers.2.mlp.down_proj"));
}

TEST(RecipeLibrary, DefaultIs16a8wPerChannelWith8BitKeysAndValues) {
  const Recipe recipe = load_recipe("default-16a8w");
  EXPECT_EQ(recipe.name, "default-16a8w");
  EXPECT_EQ(recipe.activation, DType::u16);
  EXPECT_EQ(recipe.kv_bits, 8);
  EXPECT_EQ(recipe.weight, kInt8);
  EXPECT_TRUE(recipe.transforms);
  EXPECT_TRUE(recipe.rules.empty());
}

TEST(RecipeLibrary, DefaultOf4BitsKeeps8InTheOutputLayer) {
  const Recipe recipe = load_recipe("default-16a4w_block");
  EXPECT_EQ(recipe.activation, DType::u16);
  EXPECT_EQ(recipe.kv_bits, 8);
  EXPECT_EQ(recipe.weight, kInt4Block32);
  EXPECT_TRUE(recipe.transforms);
  ASSERT_EQ(recipe.rules.size(), 1u);
  EXPECT_EQ(recipe.rules[0].weight, kInt8);
  EXPECT_TRUE(recipe.rules[0].module->is_found_in("lm_head"));
  EXPECT_FALSE(recipe.rules[0].module->is_found_in("model.layers.0.mlp.down_proj"));
}

TEST(RecipeLibrary, EveryRecipeIsUnderItsOwnName) {
  EXPECT_THAT(recipe_names(), Contains("default-16a8w"));
  for (const std::string& name : recipe_names()) EXPECT_EQ(load_recipe(name).name, name);
}

TEST(RecipeLibrary, ReadsFilesAndListsNamesForAnUnknownOne) {
  const std::string path = ::testing::TempDir() + "recipe_library_test.json";
  std::ofstream(path) << R"({"name": "r", "dtype": "16a8w", "kv_bits": 8})";
  EXPECT_EQ(load_recipe(path).name, "r");
  testing::expect_error([] { load_recipe("defualt"); }, {"default-16a8w", "defualt"});
  testing::expect_error([] { load_recipe("no/such/recipe.json"); }, {"no/such/recipe.json"});
}

}  // namespace
}  // namespace lathe
