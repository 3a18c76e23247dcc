#include "quant/weight_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "graph/groups.h"
#include "graph/head_rotation.h"
#include "quant/quantized_weights.h"
#include "support/error.h"

namespace lathe {
namespace {

// Signal to noise of random products of queries and 8-bit keys: 23 dB behind a rotation of 4 bits,
// less than without one; 39 dB behind 8 bits and 40 behind 16, which fewer executors multiply by.
constexpr WeightFormat kRotationFormat{DType::i8};

bool matches(const RecipeRule& rule, const std::string& module) {
  return !rule.module || rule.module->is_found_in(module);
}

/// Index of the rule that decides for a module, or -1; marks every rule that matches.
int deciding_rule(const std::vector<RecipeRule>& rules, const std::string& module,
                  std::vector<bool>& matched) {
  int decides = -1;
  for (size_t i = 0; i < rules.size(); ++i) {
    if (!matches(rules[i], module)) continue;
    matched[i] = true;
    if (decides < 0 || rules[i].priority >= rules[static_cast<size_t>(decides)].priority) {
      decides = static_cast<int>(i);
    }
  }
  return decides;
}

QuantSpec default_activation(const Recipe& recipe) { return {recipe.activation, Scheme::affine}; }

std::string format_of(const Recipe& recipe, const WeightChoice& choice) {
  std::string text = to_string(choice.format);
  if (choice.activation == default_activation(recipe)) return text;
  return text + ", activations " + to_string(choice.activation);
}

std::string why(const Recipe& recipe, const WeightChoice& choice) {
  if (choice.fixed) return "fixed: the rotation of r3";
  if (choice.rule < 0) return "default";
  const RecipeRule& rule = recipe.rules[static_cast<size_t>(choice.rule)];
  std::string text = fmt::format("rule {}", choice.rule);
  if (rule.module) text += fmt::format(" '{}'", rule.module->expression());
  return rule.notes.empty() ? text : text + ": " + rule.notes;
}

}  // namespace

std::vector<WeightChoice> choose_weights(const Recipe& recipe, const Graph& graph) {
  std::vector<WeightChoice> choices;
  std::vector<bool> matched(recipe.rules.size(), false);
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (!is_weight(node, 1) || !graph.value(node.inputs[1]).is_constant()) continue;
    const Value& weight = graph.value(node.inputs[1]);
    WeightChoice choice{id, node.module, weight.shape, recipe.weight, default_activation(recipe)};
    if (is_head_rotation(*weight.constant)) {
      choice.fixed = true;
      choice.format = kRotationFormat;
    } else {
      choice.rule = deciding_rule(recipe.rules, node.module, matched);
    }
    if (choice.rule >= 0) {
      const RecipeRule& rule = recipe.rules[static_cast<size_t>(choice.rule)];
      choice.format = rule.weight;
      choice.activation = rule.activation;
    }
    require_whole_blocks(choice.format, weight.shape.at(1), node.module);
    choices.push_back(std::move(choice));
  }
  for (size_t i = 0; i < matched.size(); ++i) {
    if (matched[i]) continue;
    const std::optional<ModulePattern>& module = recipe.rules[i].module;
    fail({.what = "a rule matches no weight of this model",
          .where = fmt::format("recipe {}: $.rules[{}]", recipe.name, i),
          .found = module ? printable(module->expression(), 60) : std::string()});
  }
  return choices;
}

std::map<NodeId, QuantSpec> other_activations(const Recipe& recipe,
                                              std::span<const WeightChoice> choices) {
  std::map<NodeId, QuantSpec> others;
  for (const WeightChoice& choice : choices) {
    if (choice.activation == default_activation(recipe)) continue;
    others.emplace(choice.node, choice.activation);
  }
  return others;
}

std::map<NodeId, WeightFormat> formats_of(std::span<const WeightChoice> choices) {
  std::map<NodeId, WeightFormat> formats;
  for (const WeightChoice& choice : choices) formats.emplace(choice.node, choice.format);
  return formats;
}

std::string explain(const Recipe& recipe, std::span<const WeightChoice> choices) {
  size_t module_width = 0;
  size_t shape_width = 0;
  size_t format_width = 0;
  for (const WeightChoice& choice : choices) {
    module_width = std::max(module_width, choice.module.size());
    shape_width = std::max(shape_width, to_string(choice.shape).size());
    format_width = std::max(format_width, format_of(recipe, choice).size());
  }
  std::string table;
  for (const WeightChoice& choice : choices) {
    table += fmt::format("{:<{}}  {:<{}}  {:<{}}  {}\n", choice.module, module_width,
                         to_string(choice.shape), shape_width, format_of(recipe, choice),
                         format_width, printable(why(recipe, choice), 120));
  }
  return table;
}

}  // namespace lathe
