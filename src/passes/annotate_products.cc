// Before, with a rule of u8:symmetric for v_proj:   After:
//   %permute = aten.permute(%x) ~u16                  %permute = aten.permute(%x) ~u16
//   %k = aten.conv2d(%permute, %wk) ~u16              %requantize = lathe.requantize(%permute)
//   %v = aten.conv2d(%permute, %wv) ~u16                                            ~u8:symmetric
//   %row = aten.reshape(%v) ~u16                      %k = aten.conv2d(%permute, %wk) ~u16
//                                                     %v = aten.conv2d(%requantize, %wv)
//                                                                                   ~u8:symmetric
//                                                     %row = aten.reshape(%v) ~u8:symmetric

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/groups.h"
#include "passes/pass.h"

namespace lathe {
namespace {

using Rules = std::map<NodeId, QuantSpec>;

/// What the rules say of the numbers of `value`, or nothing.
std::optional<QuantSpec> rule_for(const Graph& graph, const Rules& rules, ValueId value) {
  const Node* producer = graph.producer(value);
  const auto rule = producer == nullptr ? rules.end() : rules.find(producer->id);
  return rule == rules.end() ? std::nullopt : std::optional(rule->second);
}

/// What a product gives is held as its rule says, with all that only moves it; where others share
/// that group, they keep its spec, and what the product gave is read as that.
void annotate_results(Graph& graph, const Rules& rules) {
  const Groups groups(graph);
  for (int32_t group = 0; group < groups.count(); ++group) {
    const std::vector<ValueId>& sources = groups.sources(group);
    const std::optional<QuantSpec> shared = rule_for(graph, rules, sources.front());
    const bool agreed = shared && std::all_of(sources.begin(), sources.end(), [&](ValueId source) {
                          return rule_for(graph, rules, source) == shared;
                        });
    if (agreed) {
      for (const ValueId id : groups.members(group)) graph.set_spec(id, shared);
      continue;
    }
    for (const ValueId source : sources) {
      const std::optional<QuantSpec> own = rule_for(graph, rules, source);
      if (!own || own == graph.value(source).spec) continue;
      if (!graph.value(source).read_as) graph.set_read_as(source, graph.value(source).spec);
      graph.set_spec(source, own);
    }
  }
}

/// A product reads its input as its rule says: one requantize directly behind that input for all
/// who want the same.
void annotate_operands(Graph& graph, const Rules& rules) {
  std::map<std::pair<ValueId, std::string>, ValueId> changed;
  const std::vector<NodeId> order = graph.order();
  for (const NodeId product : order) {
    const auto rule = rules.find(product);
    if (rule == rules.end()) continue;
    const QuantSpec& spec = rule->second;
    std::vector<ValueId> inputs = graph.node(product).inputs;
    const ValueId operand = inputs[0];
    if (graph.value(operand).spec == spec) continue;
    const auto [place, added] = changed.emplace(std::pair(operand, to_string(spec)), kNone);
    if (added) {
      NodeSpec requantize{
          .op = Op::requantize, .inputs = {operand}, .module = graph.node(product).module};
      const Node* producer = graph.producer(operand);
      place->second = producer == nullptr ? graph.insert_before(product, std::move(requantize))
                                          : graph.insert_after(producer->id, std::move(requantize));
      graph.set_spec(place->second, spec);
    }
    inputs[0] = place->second;
    graph.set_inputs(product, std::move(inputs));
  }
}

}  // namespace

void annotate_products(Graph& graph, const PassOptions& options) {
  annotate_results(graph, options.products);
  annotate_operands(graph, options.products);
}

}  // namespace lathe
