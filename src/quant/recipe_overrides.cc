#include "quant/recipe_overrides.h"

#include <fmt/format.h>

#include <vector>

#include "quant/recipe.h"
#include "quant/recipe_dtypes.h"
#include "support/error.h"
#include "support/json.h"

namespace lathe {
namespace {

using nlohmann::json;

constexpr int64_t kUsualBlock = 32;

bool in_blocks(const json& object) {
  const auto dtype = object.find("dtype");
  if (dtype == object.end() || !dtype->is_string()) return false;
  const RecipeDtype* fact = recipe_dtype(dtype->get_ref<const std::string&>());
  return fact != nullptr && fact->blocks;
}

void override_dtype(json& recipe, const std::string& dtype) {
  const RecipeDtype* fact = recipe_dtype(dtype);
  if (fact == nullptr) {
    fail(
        {.what = "unknown dtype", .expected = recipe_dtype_names(), .found = printable(dtype, 40)});
  }
  if (!fact->blocks) {
    recipe.erase("block");
  } else if (!in_blocks(recipe)) {
    recipe["block"] = kUsualBlock;
  }
  recipe["dtype"] = dtype;
  for (const char* key : {"granularity", "rules", "notes", "applies_to"}) recipe.erase(key);
}

void override_block(json& recipe, int64_t block, const std::string& where) {
  bool found = false;
  const auto set = [&](json& object) {
    if (!object.is_object() || !in_blocks(object)) return;
    object["block"] = block;
    found = true;
  };
  set(recipe);
  if (recipe.contains("rules")) {
    for (json& rule : recipe["rules"]) set(rule);
  }
  if (!found) {
    fail({.what = "a block size is given, but no weight is in blocks",
          .where = where,
          .expected = "16a4w_block",
          .found = recipe.value("dtype", "")});
  }
}

}  // namespace

std::string override_recipe(std::string_view text, const RecipeOverrides& overrides,
                            const std::string& where) {
  parse_recipe(text, where);
  json recipe = parse_json(text, where);
  std::vector<std::string> changes;
  const auto note = [&](std::string_view key, const auto& value) {
    changes.push_back(fmt::format("{} {}", key, value));
  };
  if (overrides.dtype) {
    override_dtype(recipe, *overrides.dtype);
    note("dtype", *overrides.dtype);
  }
  if (overrides.block) {
    override_block(recipe, *overrides.block, where);
    note("block", *overrides.block);
  }
  const auto set = [&](const char* key, const auto& value) {
    if (!value) return;
    recipe[key] = *value;
    note(key, *value);
  };
  set("kv_bits", overrides.kv_bits);
  set("r3", overrides.r3);
  set("seq_mse", overrides.seq_mse);
  if (changes.empty()) return std::string(text);
  recipe["name"] =
      fmt::format("{} with {}", recipe["name"].get<std::string>(), fmt::join(changes, ", "));
  return recipe.dump(2);
}

}  // namespace lathe
