// Before:                                                After:
//   %linear = aten.linear(%x, %qkv)                        %linear_1 = aten.linear(%x, %qkv.0)
//   %slice_1 = aten.slice(%linear) {dim=2, start=0, ...}   %linear_2 = aten.linear(%x, %qkv.64)
//   %slice_2 = aten.slice(%linear) {dim=2, start=64, ...}
//
// A projection whose result is only read in parts becomes a projection for each part, with the
// rows of the weight that give it. A chunk with its getitems counts as slices.

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "graph/operators.h"
#include "graph/rewrite.h"
#include "graph/slice_channels.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace lathe {
namespace {

/// The channels of a projection that a node takes.
struct Part {
  NodeId reader = kNone;
  int64_t first = 0;
  int64_t count = 0;
};

bool is_last(const Graph& graph, const Node& node) {
  const auto rank = static_cast<int64_t>(graph.value(node.inputs[0]).shape.size());
  const int64_t dim = node.attributes.integer("dim");
  return dim == -1 || dim == rank - 1;
}

/// The parts in which `value` is read; none where it is read as a whole.
std::vector<Part> parts_of(const Graph& graph, const Users& users, ValueId value) {
  std::vector<Part> parts;
  if (is_output(graph, value)) return {};
  for (const NodeId id : users[static_cast<size_t>(value)]) {
    const Node& reader = graph.node(id);
    if (reader.op == Op::slice && is_last(graph, reader) && slice_step(reader) == 1) {
      parts.push_back(
          {id, reader.attributes.integer("start"), graph.value(reader.output()).shape.back()});
    } else if (reader.op == Op::chunk && is_last(graph, reader)) {
      const int64_t width = graph.value(reader.output()).shape.back();
      for (const NodeId item : users[static_cast<size_t>(reader.output())]) {
        const Node& part = graph.node(item);
        if (part.op != Op::getitem) return {};
        parts.push_back({item, part.attributes.integer("index") * width, width});
      }
    } else {
      return {};
    }
  }
  return parts;
}

}  // namespace

void split_projections(Graph& graph) {
  const Users users = graph.users();
  const std::vector<NodeId> order = graph.order();
  Rewrite rewrite(graph);
  for (const NodeId id : order) {
    const Node linear = graph.node(id);
    if (linear.op != Op::linear || !has_floats(graph, linear.inputs[1])) continue;
    for (const Part& part : parts_of(graph, users, linear.output())) {
      std::vector<ValueId> inputs = linear.inputs;
      for (size_t i = 1; i < inputs.size(); ++i) {
        const Value rows = slice_channels(graph.value(inputs[i]), part.first, part.count,
                                          fmt::format(".{}", part.first));
        inputs[i] = graph.add_constant(rows.name, rows.dtype, rows.shape, rows.constant);
      }
      const ValueId projected = rewrite.insert_before(
          id, {.op = Op::linear, .inputs = std::move(inputs), .module = linear.module});
      rewrite.replace(graph.node(part.reader).output(), projected);
    }
  }
  rewrite.apply();
  graph.remove_dead();
}

}  // namespace lathe
