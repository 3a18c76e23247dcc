#pragma once

#include <map>

#include "graph/graph.h"

namespace lathe {

/// Finds the rows of cos and sin that a call picks, for all heads: unsqueeze(embedding(table,
/// position)) {dim=1}, [1, 1, AR, R], with a float table [CL, R] whose halves are alike.
class RotaryRows {
 public:
  explicit RotaryRows(const Graph& graph) : graph_(graph) {}

  /// The unsqueeze that gives `value`, or null where that is something else.
  const Node* find(ValueId value);

 private:
  bool halves_alike(const Value& table);

  const Graph& graph_;
  std::map<const Constant*, bool> alike_;  // layers share their tables
};

}  // namespace lathe
