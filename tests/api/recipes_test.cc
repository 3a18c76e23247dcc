// Every built-in recipe against the weights of the model that it is for, and on a small checkpoint
// of that family.

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "api/golden.h"
#include "api/model_cases.h"
#include "checkpoint/config.h"
#include "checkpoint/expected_tensors.h"
#include "lathe/compile.h"
#include "lathe/language_model.h"
#include "quant/recipe_library.h"
#include "support/expect_error.h"
#include "support/mapped_file.h"
#include "support/test_files.h"

namespace lathe {
namespace {

using testing::expect_error;
using testing::ModelCase;
using testing::TestFolder;

std::vector<std::string> recipes_of_models() {
  std::vector<std::string> names;
  for (const std::string& name : recipe_names()) {
    if (load_recipe(name).applies_to != RecipeFacts{}) names.push_back(name);
  }
  return names;
}

std::string test_name(std::string text) {
  std::replace_if(text.begin(), text.end(), [](char c) { return c == '-' || c == '.'; }, '_');
  return text;
}

/// A weight that a product stores.
struct Product {
  std::string module;
  int64_t inputs = 0;  ///< features
};

/// The products of a model with these facts; where a recipe asks for no number, the family's own.
std::vector<Product> products_of(const RecipeFacts& facts) {
  nlohmann::json json = {{"model_type", facts.model_type}};
  const auto set = [&](const char* key, int64_t number) {
    if (number != 0) json[key] = number;
  };
  set("hidden_size", facts.hidden_size);
  set("intermediate_size", facts.intermediate_size);
  set("num_hidden_layers", facts.num_hidden_layers);
  set("num_attention_heads", facts.num_attention_heads);
  set("num_key_value_heads", facts.num_key_value_heads);
  set("vocab_size", facts.vocab_size);
  ModelConfig config = parse_model_config(json, "config.json");
  config.tie_word_embeddings = false;  // a tied output layer is a product as well

  constexpr std::string_view kWeight = ".weight";
  std::vector<Product> products;
  for (const TensorInfo& tensor : expected_tensors(config)) {
    const bool is_matrix = tensor.shape.size() == 2 && tensor.name.ends_with(kWeight);
    if (!is_matrix || tensor.name == "model.embed_tokens.weight") continue;
    products.push_back(
        {tensor.name.substr(0, tensor.name.size() - kWeight.size()), tensor.shape[1]});
  }
  return products;
}

class ModelRecipe : public ::testing::TestWithParam<std::string> {
 protected:
  const Recipe recipe_ = load_recipe(GetParam());
  const std::vector<Product> products_ = products_of(recipe_.applies_to);
};

TEST_P(ModelRecipe, EveryRuleFindsAWeightOfTheModel) {
  for (const RecipeRule& rule : recipe_.rules) {
    ASSERT_TRUE(rule.module);
    const bool found = std::any_of(products_.begin(), products_.end(), [&](const Product& product) {
      return rule.module->is_found_in(product.module);
    });
    EXPECT_TRUE(found) << rule.module->expression();
  }
}

TEST_P(ModelRecipe, BlocksDivideEveryWeightOfTheModel) {
  if (recipe_.weight.block == 0) return;
  for (const Product& product : products_) {
    EXPECT_EQ(product.inputs % recipe_.weight.block, 0) << product.module;
  }
}

INSTANTIATE_TEST_SUITE_P(, ModelRecipe, ::testing::ValuesIn(recipes_of_models()),
                         [](const auto& info) { return test_name(info.param); });

// --- on small checkpoints of the families

/// A recipe and a small checkpoint of the family that it is for.
struct FamilyCase {
  std::string recipe;
  ModelCase model;
};
std::ostream& operator<<(std::ostream& out, const FamilyCase& tested) {
  return out << tested.recipe;
}

std::string model_type_of(const ModelCase& model) {
  const std::string text = read_text_file(model.source / "config.json");
  return nlohmann::json::parse(text).at("model_type");
}

std::vector<FamilyCase> family_cases() {
  std::vector<FamilyCase> cases;
  for (const ModelCase& model : testing::tiny_models()) {
    for (const std::string& name : recipes_of_models()) {
      // Its rules name layers that no small checkpoint has.
      if (name == "llama3_2-3b") continue;
      if (load_recipe(name).applies_to.model_type == model_type_of(model)) {
        cases.push_back({name, model});
      }
    }
  }
  return cases;
}

class FamilyRecipe : public ::testing::TestWithParam<FamilyCase> {
 protected:
  CompileOptions options() const {
    CompileOptions options{.context = 64,
                           .prefill = 8,
                           .recipe = GetParam().recipe,
                           .calibration_tokens = 128,
                           .threads = 1};
    // Small checkpoints have rows of 64 and of 160 weights.
    if (load_recipe(GetParam().recipe).weight.block == 64) options.block = 32;
    return options;
  }
};

TEST_P(FamilyRecipe, MakesAModelThatTheCpuRunsLikeTheReference) {
  const TestFolder folder;
  const ModelCase& model = GetParam().model;
  compile(model.source, folder / "model.lathe", options());
  const auto cpu = LanguageModel::open(folder / "model.lathe", {.threads = 1});
  const auto reference =
      LanguageModel::open(folder / "model.lathe", {.executor = ExecutorKind::reference});
  const std::vector<int64_t> prompt = testing::Golden(model.golden).ids("p0.input_ids");
  EXPECT_EQ(testing::greedy(cpu->runner(), prompt, 16),
            testing::greedy(reference->runner(), prompt, 16));
}

INSTANTIATE_TEST_SUITE_P(, FamilyRecipe, ::testing::ValuesIn(family_cases()), [](const auto& info) {
  return test_name(info.param.recipe + "_on_" + info.param.model.name);
});

TEST(RecipeForLayers, ThatAModelDoesNotHaveIsRefused) {
  const TestFolder folder;
  expect_error(
      [&] {
        compile(testing::tiny_llama().source, folder / "model.lathe", {.recipe = "llama3_2-3b"});
      },
      {"recipe llama3_2-3b: $.rules[1]", "matches no weight", "down_proj"});
}

}  // namespace
}  // namespace lathe
