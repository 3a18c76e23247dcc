#include "quant/recipe_library.h"

#include <fmt/format.h>

#include "quant/embedded_files.h"
#include "support/error.h"
#include "support/mapped_file.h"

namespace lathe {
namespace {

constexpr std::string_view kExtension = ".json";
constexpr std::string_view kDefault = "default-16a8w";
constexpr size_t kLargestRecipe = 1 << 20;

std::string_view name_of(const EmbeddedFile& file) {
  return file.name.substr(0, file.name.size() - kExtension.size());
}

}  // namespace

std::vector<std::string> recipe_names() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_recipes()) names.emplace_back(name_of(file));
  return names;
}

RecipeText find_recipe(std::string_view name_or_file) {
  if (name_or_file.ends_with(kExtension) || name_or_file.find('/') != std::string_view::npos) {
    const std::string path(name_or_file);
    return {read_text_file(path, kLargestRecipe), path};
  }
  for (const EmbeddedFile& file : embedded_recipes()) {
    if (name_of(file) == name_or_file) return {std::string(file.text), std::string(file.name)};
  }
  fail({.what = "unknown recipe",
        .expected = fmt::format("{}, or a .json file", fmt::join(recipe_names(), ", ")),
        .found = printable(name_or_file, 40)});
}

RecipeText choose_recipe(const RecipeFacts& facts) {
  for (const EmbeddedFile& file : embedded_recipes()) {
    const std::string where(file.name);
    if (has_facts(facts, parse_recipe(file.text, where).applies_to)) {
      return {std::string(file.text), where};
    }
  }
  return find_recipe(kDefault);
}

Recipe load_recipe(std::string_view name_or_file) {
  const RecipeText recipe = find_recipe(name_or_file);
  return parse_recipe(recipe.text, recipe.where);
}

}  // namespace lathe
