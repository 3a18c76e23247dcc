#include "quant/recipe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "quant/recipe_dtypes.h"
#include "quant/recipe_fields.h"
#include "support/error.h"

namespace lathe {
namespace {

using nlohmann::json;

constexpr int64_t kHighestPriority = 1000;
constexpr int64_t kMostHeadroom = 1000;
constexpr int64_t kMostSteps = 1000;
constexpr int64_t kMostShards = 64;
constexpr int64_t kWidestPrefill = 4096;
constexpr std::array<int64_t, 3> kBlocks{16, 32, 64};

constexpr std::array<std::string_view, 17> kRecipeKeys{
    "name",   "notes",          "source",     "applies_to", "dtype",   "granularity",
    "block",  "kv_bits",        "transforms", "r3",         "seq_mse", "masked_softmax",
    "shards", "host_embedding", "prefill",    "rules",      "headroom"};
constexpr std::array<std::string_view, 7> kRuleKeys{"match", "priority",  "dtype", "granularity",
                                                    "block", "symmetric", "notes"};
constexpr std::array<std::string_view, 2> kMatchKeys{"op", "module"};

const RecipeDtype& read_dtype(const JsonFields& fields) {
  const RecipeDtype* dtype = recipe_dtype(fields.string("dtype"));
  if (dtype == nullptr) refuse_value(fields, "dtype", recipe_dtype_names());
  return *dtype;
}

/// Granularity and block have to fit the dtype: weights in blocks say of what size.
WeightFormat read_format(const JsonFields& fields, const RecipeDtype& dtype) {
  const std::string_view granularity = dtype.blocks ? "block" : "channel";
  if (fields.optional_string("granularity").value_or(std::string(granularity)) != granularity) {
    refuse_value(fields, "granularity", fmt::format("{} with {}", granularity, dtype.name));
  }
  if (!dtype.blocks) {
    if (fields.find("block") != nullptr) {
      refuse_value(fields, "block", fmt::format("none with {}", dtype.name));
    }
    return {dtype.weight};
  }
  const int64_t block = fields.integer("block", kBlocks.front(), kBlocks.back());
  if (std::find(kBlocks.begin(), kBlocks.end(), block) == kBlocks.end()) {
    refuse_value(fields, "block", fmt::format("{}", fmt::join(kBlocks, ", ")));
  }
  return {dtype.weight, static_cast<int32_t>(block)};
}

/// A product is a linear in one form of a graph and a conv2d in another, so `op` tells nothing but
/// that a product is meant.
std::optional<ModulePattern> read_match(const json& object, const std::string& where) {
  const JsonFields fields(object, where);
  refuse_unknown_keys(object, where, kMatchKeys);
  const std::optional<std::string> op = fields.optional_string("op");
  if (op && *op != "linear" && *op != "conv2d") refuse_value(fields, "op", "linear or conv2d");
  std::optional<std::string> module = fields.optional_string("module");
  if (!op && !module) {
    fail({.what = "a rule matches on nothing", .where = where, .expected = "op, module or both"});
  }
  if (!module) return std::nullopt;
  try {
    return ModulePattern(*std::move(module));
  } catch (const std::invalid_argument&) {
    refuse_value(fields, "module", "a regular expression of 1 to 256 bytes");
  }
}

RecipeRule read_rule(const json& object, const std::string& where) {
  const JsonFields fields(object, where);
  refuse_unknown_keys(object, where, kRuleKeys);
  const json* match = fields.find("match");
  if (match == nullptr) fail({.what = "the field is missing", .where = fields.place("match")});

  RecipeRule rule;
  rule.module = read_match(*match, where + ".match");
  rule.priority = fields.optional_integer("priority", -kHighestPriority, kHighestPriority)
                      .value_or(rule.priority);
  const RecipeDtype& dtype = read_dtype(fields);
  rule.weight = read_format(fields, dtype);
  const bool symmetric = fields.optional_boolean("symmetric").value_or(false);
  rule.activation = {dtype.activation, symmetric ? Scheme::symmetric : Scheme::affine};
  rule.notes = fields.optional_string("notes").value_or("");
  return rule;
}

int read_kv_bits(const JsonFields& fields, const RecipeDtype& dtype) {
  const auto bits = static_cast<int>(fields.integer("kv_bits", 8, 16));
  if (bits != 8 && bits != 16) refuse_value(fields, "kv_bits", "8 or 16");
  if (bits == 16 && dtype.activation == DType::u8) {
    refuse_value(fields, "kv_bits", fmt::format("8 with {}", dtype.name));
  }
  return bits;
}

/// The rules of a recipe's JSON; an empty list where it has none.
const json& rules_of(const JsonFields& fields) {
  static const json kNone = json::array();
  const json* rules = fields.find("rules");
  if (rules == nullptr) return kNone;
  if (!rules->is_array()) refuse_value(fields, "rules", "a list");
  return *rules;
}

}  // namespace

Recipe parse_recipe(std::string_view text, const std::string& where) {
  const json document = parse_json(text, where);
  const std::string root = where + ": $";
  const JsonFields fields(document, root);
  refuse_unknown_keys(document, root, kRecipeKeys);
  Recipe recipe;
  recipe.name = fields.string("name");
  recipe.notes = fields.optional_string("notes").value_or("");
  recipe.source = fields.optional_string("source").value_or("");
  if (const json* facts = fields.find("applies_to")) {
    recipe.applies_to = parse_facts_asked_for(*facts, root + ".applies_to");
  }
  const RecipeDtype& dtype = read_dtype(fields);
  recipe.activation = dtype.activation;
  recipe.weight = read_format(fields, dtype);
  recipe.kv_bits = read_kv_bits(fields, dtype);
  recipe.transforms = fields.optional_boolean("transforms").value_or(false);
  recipe.r3 = fields.optional_boolean("r3").value_or(false);
  recipe.headroom = static_cast<int>(
      fields.optional_integer("headroom", 0, kMostHeadroom).value_or(recipe.headroom));
  recipe.seq_mse = static_cast<int>(fields.optional_integer("seq_mse", 0, kMostSteps).value_or(0));
  recipe.masked_softmax = fields.optional_boolean("masked_softmax").value_or(false);
  recipe.shards = static_cast<int>(fields.optional_integer("shards", 1, kMostShards).value_or(1));
  recipe.host_embedding = fields.optional_boolean("host_embedding").value_or(false);
  recipe.prefill = fields.optional_integer("prefill", 1, kWidestPrefill);
  const json& rules = rules_of(fields);
  for (size_t i = 0; i < rules.size(); ++i) {
    recipe.rules.push_back(read_rule(rules[i], fmt::format("{}.rules[{}]", root, i)));
  }
  return recipe;
}

}  // namespace lathe
