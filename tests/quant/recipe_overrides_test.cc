#include "quant/recipe_overrides.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "quant/recipe.h"
#include "quant/recipe_library.h"
#include "support/expect_error.h"

namespace lathe {
namespace {

/// Llama 3.2 1B has weights in blocks of 32 and rules.
Recipe overridden(const std::string& name, const RecipeOverrides& overrides) {
  const RecipeText recipe = find_recipe(name);
  return parse_recipe(override_recipe(recipe.text, overrides, recipe.where), recipe.where);
}

TEST(OverrideRecipe, LeavesTheTextWhereNothingIsAskedFor) {
  const RecipeText recipe = find_recipe("llama3_2-1b");
  EXPECT_EQ(override_recipe(recipe.text, {}, recipe.where), recipe.text);
}

TEST(OverrideRecipe, ADtypeHoldsForAllWeights) {
  const Recipe recipe = overridden("llama3_2-1b", {.dtype = "16a4w"});
  EXPECT_EQ(recipe.weight, (WeightFormat{DType::i4}));
  EXPECT_TRUE(recipe.rules.empty());
  EXPECT_EQ(recipe.seq_mse, 50);
  EXPECT_EQ(recipe.name, "llama3_2-1b with dtype 16a4w");
}

TEST(OverrideRecipe, WeightsInBlocksHaveASize) {
  EXPECT_EQ(overridden("default-16a8w", {.dtype = "16a4w_block"}).weight.block, 32);
  EXPECT_EQ(overridden("default-16a8w", {.dtype = "16a4w_block", .block = 16}).weight.block, 16);
}

TEST(OverrideRecipe, ABlockSizeLeavesTheRules) {
  const Recipe recipe = overridden("llama3_2-1b", {.block = 64});
  EXPECT_EQ(recipe.weight, (WeightFormat{DType::i4, 64}));
  EXPECT_EQ(recipe.rules.size(), 2u);
}

TEST(OverrideRecipe, SetsWhatIsNoWeight) {
  const Recipe recipe = overridden("llama3_2-1b", {.kv_bits = 16, .r3 = true, .seq_mse = 0});
  EXPECT_EQ(recipe.kv_bits, 16);
  EXPECT_TRUE(recipe.r3);
  EXPECT_EQ(recipe.seq_mse, 0);
  EXPECT_EQ(recipe.rules.size(), 2u);
  EXPECT_EQ(recipe.name, "llama3_2-1b with kv_bits 16, r3 true, seq_mse 0");
}

TEST(OverrideRecipe, NamesContradictions) {
  const auto refuse = [](const RecipeOverrides& overrides, std::vector<std::string> parts) {
    testing::expect_error([&] { overridden("default-16a8w", overrides); }, parts);
  };
  refuse({.dtype = "16a5w"}, {"unknown dtype", "16a4w_block", "16a5w"});
  refuse({.block = 32}, {"default-16a8w.json", "no weight is in blocks", "16a8w"});
  refuse({.dtype = "16a4w", .block = 32}, {"no weight is in blocks", "16a4w"});
  refuse({.dtype = "16a4w_block", .block = 48}, {"$: block", "16, 32, 64", "48"});
  refuse({.dtype = "8a8w", .kv_bits = 16}, {"$: kv_bits", "8 with 8a8w"});
  refuse({.kv_bits = 9}, {"$: kv_bits", "8 or 16"});
}

}  // namespace
}  // namespace lathe
