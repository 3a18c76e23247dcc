#pragma once

#include <utility>
#include <vector>

#include "graph/graph.h"

namespace lathe {

/// Collects changes to a graph and makes them in one sweep: Graph::insert_before and replace_uses
/// look at every node each time, which a pass with thousands of changes cannot afford.
///
/// New nodes and values exist at once, with their ids; they stand in their place, and are read,
/// from apply() on.
class Rewrite {
 public:
  explicit Rewrite(Graph& graph) : graph_(graph) {}

  /// As Graph::insert_before; behind what was inserted there earlier.
  ValueId insert_before(NodeId where, NodeSpec spec);
  /// Every node and every output that reads `from` reads `to` instead, which may be replaced in its
  /// turn.
  void replace(ValueId from, ValueId to) { replacements_.emplace_back(from, to); }
  /// A new node in the place of `node`, whose one output hands over readers, type, encoding and
  /// annotation. The module stays.
  ValueId replace_node(NodeId node, NodeSpec spec);

  /// Once, at the end.
  void apply();

 private:
  Graph& graph_;
  std::vector<std::pair<NodeId, NodeId>> inserted_;  // node, and the one it stands before
  std::vector<std::pair<ValueId, ValueId>> replacements_;
};

/// Gives `value` the type, encoding and spec of `from`, whose numbers it holds.
void take_type(Graph& graph, ValueId value, ValueId from);
/// As take_type, for a value that takes over the readers too, and so what they read it as.
void stand_in(Graph& graph, ValueId value, ValueId from);

}  // namespace lathe
