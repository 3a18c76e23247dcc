#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lathe {

/// What a user asks for beside a recipe.
struct RecipeOverrides {
  std::optional<std::string> dtype = {};  ///< of all weights: the recipe's rules no longer count
  std::optional<int64_t> block = {};      ///< of all weights that are in blocks
  std::optional<int64_t> kv_bits = {};
  std::optional<bool> r3 = {};
  std::optional<int64_t> seq_mse = {};
};

/// The text of a recipe with overrides, for parse_recipe, which tells where they contradict the
/// rest. Weights in blocks that neither the recipe nor the overrides give a size get 32. Throws
/// Error as parse_recipe does, and for a block size where no weight is in blocks.
std::string override_recipe(std::string_view text, const RecipeOverrides& overrides,
                            const std::string& where);

}  // namespace lathe
