#include "graph/diff/locate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "graph/attribute_meaning.h"
#include "graph/operators.h"

namespace lathe {
namespace {

std::string path_entry(const Node& node) {
  const std::string name(rule_of(node.op).name);
  return node.module.empty() ? name : name + " @ " + node.module;
}

std::string attribute_difference(const std::map<std::string, std::string>& a,
                                 const std::map<std::string, std::string>& b) {
  for (const auto& [name, item] : a) {
    const auto found = b.find(name);
    if (found == b.end()) return fmt::format("attribute {}: {} and none", name, item);
    if (found->second != item) return either("attribute " + name, item, found->second);
  }
  for (const auto& [name, item] : b) {
    if (!a.contains(name)) return fmt::format("attribute {}: none and {}", name, item);
  }
  return {};
}

/// What keeps two values that are not alike apart; empty: only that some operands are not alike.
std::string own_difference(const NumberedGraphs& graphs, const Pair& pair) {
  const Value& x = graphs.value(0, pair);
  const Value& y = graphs.value(1, pair);
  const Node* a = graphs.producer(0, pair);
  const Node* b = graphs.producer(1, pair);
  const auto kind = [](const Value& value, const Node* node) -> std::string {
    if (node != nullptr) return std::string(rule_of(node->op).name);
    return value.is_constant() ? "a constant" : "an input";
  };
  if (kind(x, a) != kind(y, b)) return either("operator", kind(x, a), kind(y, b));
  if (a == nullptr) {
    if (!x.is_constant() && x.name != y.name) return either("input", x.name, y.name);
    const std::string type = type_difference(x, y);
    return type.empty() ? "numbers of a constant" : type;
  }
  if (a->inputs.size() != b->inputs.size()) {
    return either("number of operands", std::to_string(a->inputs.size()),
                  std::to_string(b->inputs.size()));
  }
  Both<std::vector<int32_t>> operands;
  for (size_t i = 0; i < a->inputs.size(); ++i) {
    operands[0].push_back(graphs.number(0, a->inputs[i]));
    operands[1].push_back(graphs.number(1, b->inputs[i]));
  }
  const bool in_order = operands[0] == operands[1];
  for (std::vector<int32_t>& side : operands) std::sort(side.begin(), side.end());
  if (operands[0] != operands[1]) return {};
  if (!in_order && !is_commutative(*a)) return "order of the operands";
  const std::string attributes = attribute_difference(attribute_meaning(graphs.graph(0), *a),
                                                      attribute_meaning(graphs.graph(1), *b));
  if (!attributes.empty()) return attributes;
  const std::string type = type_difference(x, y);
  return type.empty() ? "another output of the node" : type;
}

}  // namespace

GraphDifference locate(const NumberedGraphs& graphs, const NumberedGraphs::OutputPair& output) {
  std::vector<std::string> path;
  Pair pair = output.values;
  std::string what = own_difference(graphs, pair);
  while (what.empty()) {
    const Node& a = *graphs.producer(0, pair);
    const Node& b = *graphs.producer(1, pair);
    path.push_back(path_entry(a));
    for (const Pair& operands : graphs.operands(a, b)) {
      pair = operands;
      if (!graphs.alike(pair)) break;
    }
    what = own_difference(graphs, pair);
  }
  GraphDifference difference = graphs.describe(pair, std::move(what));
  difference.output = output.name;
  difference.path = std::move(path);
  return difference;
}

}  // namespace lathe
