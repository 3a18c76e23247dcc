#include "quant/recipe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <stdexcept>
#include <utility>

#include "graph/operators.h"
#include "support/error.h"
#include "support/json.h"

namespace lathe {
namespace {

using nlohmann::json;

constexpr int64_t kHighestPriority = 1000;

struct DtypeFact {
  std::string_view name;
  DType activation;
  DType weight;
};
constexpr std::array<DtypeFact, 2> kDtypes{
    {{"16a8w", DType::u16, DType::i8}, {"8a8w", DType::u8, DType::i8}}};

/// Throws Error for a key of `object` that is not one of `known`.
void refuse_unknown_keys(const json& object, const std::string& where,
                         std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    fail({.what = "unknown key in a recipe",
          .where = where,
          .expected = fmt::format("one of {}", fmt::join(known, ", ")),
          .found = printable(key, 40)});
  }
}

[[noreturn]] void refuse_value(const JsonFields& fields, std::string_view key,
                               std::string expected) {
  fail({.what = "value not possible in a recipe",
        .where = fields.place(key),
        .expected = std::move(expected),
        .found = describe(*fields.find(key))});
}

const DtypeFact& read_dtype(const JsonFields& fields) {
  const std::string name = fields.string("dtype");
  for (const DtypeFact& fact : kDtypes) {
    if (fact.name == name) return fact;
  }
  refuse_value(fields, "dtype", "16a8w or 8a8w");
}

Granularity read_granularity(const JsonFields& fields) {
  if (fields.optional_string("granularity").value_or("channel") != "channel") {
    refuse_value(fields, "granularity", "channel");
  }
  return Granularity::channel;
}

RuleMatch read_match(const json& object, const std::string& where) {
  const JsonFields fields(object, where);
  refuse_unknown_keys(object, where, {"op", "module"});
  RuleMatch match;
  if (const auto op = fields.optional_string("op")) {
    if (*op != rule_of(Op::linear).stem) refuse_value(fields, "op", "linear");
    match.op = Op::linear;
  }
  if (auto module = fields.optional_string("module")) {
    try {
      match.module.emplace(*std::move(module));
    } catch (const std::invalid_argument&) {
      refuse_value(fields, "module", "a regular expression of 1 to 256 bytes");
    }
  }
  if (!match.op && !match.module) {
    fail({.what = "a rule matches on nothing", .where = where, .expected = "op, module or both"});
  }
  return match;
}

RecipeRule read_rule(const json& object, const std::string& where, const DtypeFact& recipe_dtype) {
  const JsonFields fields(object, where);
  refuse_unknown_keys(object, where, {"match", "priority", "dtype", "granularity", "notes"});
  const json* match = fields.find("match");
  if (match == nullptr) fail({.what = "the field is missing", .where = fields.place("match")});

  RecipeRule rule;
  rule.match = read_match(*match, where + ".match");
  rule.priority = fields.optional_integer("priority", -kHighestPriority, kHighestPriority)
                      .value_or(rule.priority);
  const DtypeFact& dtype = read_dtype(fields);
  if (dtype.activation != recipe_dtype.activation) {
    refuse_value(fields, "dtype", fmt::format("activations as in {}", recipe_dtype.name));
  }
  rule.weight = {dtype.weight, read_granularity(fields)};
  rule.notes = fields.optional_string("notes").value_or("");
  return rule;
}

bool matches(const RuleMatch& match, const Node& node) {
  if (match.op && *match.op != node.op) return false;
  return !match.module || match.module->is_found_in(node.module);
}

}  // namespace

std::string to_string(const WeightFormat& format) {
  return fmt::format("{} per channel", name_of(format.dtype));
}

Recipe parse_recipe(std::string_view text, const std::string& where) {
  const json document = parse_json(text, where);
  const std::string root = where + ": $";
  const JsonFields fields(document, root);
  refuse_unknown_keys(
      document, root,
      {"name", "notes", "source", "dtype", "granularity", "kv_bits", "transforms", "rules"});
  Recipe recipe;
  recipe.name = fields.string("name");
  recipe.notes = fields.optional_string("notes").value_or("");
  recipe.source = fields.optional_string("source").value_or("");
  const DtypeFact& dtype = read_dtype(fields);
  recipe.activation = dtype.activation;
  recipe.weight = {dtype.weight, read_granularity(fields)};
  recipe.kv_bits = static_cast<int>(fields.integer("kv_bits", 8, 16));
  if (recipe.kv_bits != 8 && recipe.kv_bits != 16) refuse_value(fields, "kv_bits", "8 or 16");

  recipe.transforms = fields.optional_boolean("transforms").value_or(false);

  const json* rules = fields.find("rules");
  if (rules == nullptr) return recipe;
  if (!rules->is_array()) refuse_value(fields, "rules", "a list");
  for (size_t i = 0; i < rules->size(); ++i) {
    recipe.rules.push_back(read_rule((*rules)[i], fmt::format("{}.rules[{}]", root, i), dtype));
  }
  return recipe;
}

std::vector<WeightChoice> choose_weights(const Recipe& recipe, const Graph& graph) {
  std::vector<WeightChoice> choices;
  std::vector<bool> matched(recipe.rules.size(), false);
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.op != Op::linear) continue;
    WeightChoice choice{id, node.module, recipe.weight, -1};
    for (size_t i = 0; i < recipe.rules.size(); ++i) {
      const RecipeRule& rule = recipe.rules[i];
      if (!matches(rule.match, node)) continue;
      matched[i] = true;
      const bool wins = choice.rule < 0 ||
                        rule.priority >= recipe.rules[static_cast<size_t>(choice.rule)].priority;
      if (wins) {
        choice.rule = static_cast<int>(i);
        choice.format = rule.weight;
      }
    }
    choices.push_back(std::move(choice));
  }
  for (size_t i = 0; i < matched.size(); ++i) {
    if (matched[i]) continue;
    const std::optional<ModulePattern>& module = recipe.rules[i].match.module;
    fail({.what = "a rule matches no weight of this model",
          .where = fmt::format("recipe {}: $.rules[{}]", recipe.name, i),
          .found = module ? printable(module->expression(), 60) : std::string()});
  }
  return choices;
}

}  // namespace lathe
