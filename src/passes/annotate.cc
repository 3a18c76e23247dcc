// Before:                                        After:
//   input %x : f32[1, 4]                           input %x : f32[1, 4] ~u16
//   %linear = aten.linear(%x, %w) : f32[1, 8]      %linear = ... : f32[1, 8] ~u16
//   %view = aten.view(%linear) : f32[2, 4]         %view = ... : f32[2, 4] ~u16
//   %softmax = aten.softmax(%view) : f32[2, 4]     %softmax = ... : f32[2, 4] ~u16:unit
// Purely structural and independent of the order of nodes: a group of values that operators only
// move has one spec.

#include <algorithm>
#include <string_view>

#include "graph/fixed_encodings.h"
#include "graph/groups.h"
#include "graph/operators.h"
#include "passes/match.h"
#include "passes/pass.h"
#include "support/error.h"

namespace lathe {
namespace {

bool is_unit(const Graph& graph, ValueId id) {
  const Node* producer = graph.producer(id);
  return producer != nullptr && rule_of(producer->op).encoding == EncodingRule::unit;
}

/// cos and sin: rows of a constant table that are picked by position and only ever multiplied.
/// (A table of learned positions would be added.)
bool is_rotary(const Graph& graph, const Groups& groups, int32_t group, const Users& users) {
  bool by_position = false;
  for (const ValueId id : groups.members(group)) {
    for (const NodeId user : users[static_cast<size_t>(id)]) {
      const Node& node = graph.node(user);
      if (node.op == Op::embedding && node.inputs[0] == id) {
        by_position = by_position || graph.value(node.inputs[1]).name == "position";
      } else if (node.op != Op::mul && !moves_codes(graph, node, 0)) {
        return false;
      }
    }
  }
  return by_position;
}

/// What the members of a group share.
QuantSpec spec_of(const Graph& graph, const Groups& groups, int32_t group, const Users& users,
                  const PassOptions& options) {
  const std::vector<ValueId>& sources = groups.sources(group);
  for (const ValueId source : sources) {
    if (!is_mask(graph, source)) continue;
    if (sources.size() > 1) {
      fail({.what = "an attention mask shares its encoding with other values",
            .where = graph.value(source).name,
            .found = graph.value(sources.back()).name});
    }
    return {DType::u16, Scheme::mask};
  }
  const bool all_unit = std::all_of(sources.begin(), sources.end(),
                                    [&](ValueId source) { return is_unit(graph, source); });
  if (all_unit) return {DType::u16, Scheme::unit};
  if (is_rotary(graph, groups, group, users)) return {options.activation, Scheme::rotary};
  return {options.activation, Scheme::affine};
}

}  // namespace

void annotate(Graph& graph, const PassOptions& options) {
  const Groups groups(graph);
  const Users users = graph.users();
  for (int32_t group = 0; group < groups.count(); ++group) {
    const QuantSpec spec = spec_of(graph, groups, group, users, options);
    for (const ValueId id : groups.members(group)) {
      graph.set_spec(id, spec);
      // The encoding of softmax and sigmoid is fixed, whatever they are joined with afterwards.
      if (!is_unit(graph, id) || spec.scheme == Scheme::unit) continue;
      graph.set_spec(id, QuantSpec{DType::u16, Scheme::unit});
      graph.set_read_as(id, spec);
    }
  }
}

}  // namespace lathe
