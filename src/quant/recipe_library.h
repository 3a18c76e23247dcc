#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "quant/recipe.h"

namespace lathe {

/// Names of the recipes that are built in: "default-16a8w", "llama3_2-1b".
std::vector<std::string> recipe_names();

/// The text of a recipe, and the name of the file it is in, for errors.
struct RecipeText {
  std::string text;
  std::string where;
};

/// The recipe that a user means by `--recipe`: a file where the text ends in ".json" or holds a
/// '/', else a built-in name. Throws Error: an unknown name (the known ones are listed), a missing
/// file.
RecipeText find_recipe(std::string_view name_or_file);
/// The built-in recipe that applies to a model with these facts; "default-16a8w" where none does.
RecipeText choose_recipe(const RecipeFacts& facts);
/// find_recipe, parsed.
Recipe load_recipe(std::string_view name_or_file);

}  // namespace lathe
