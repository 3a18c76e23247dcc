#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace lathe {

/// Whether `node` moves the codes of its input `index`, so that this input and the output share
/// one encoding.
bool moves_codes(const Graph& graph, const Node& node, size_t index);

/// Whether input `index` of `node` is a weight or a bias: stored in a format of its own, not an
/// activation.
bool is_weight(const Node& node, size_t index);

/// The values of a graph in groups that share one encoding: joined through the operators that move
/// codes, whatever the order of the nodes. Only float values are in a group.
class Groups {
 public:
  explicit Groups(const Graph& graph);

  /// Groups are numbered by their lowest value id.
  int32_t count() const { return static_cast<int32_t>(members_.size()); }
  /// kNone: a value that holds no activation (ids, weights, dead values).
  int32_t of(ValueId id) const { return group_of_[static_cast<size_t>(id)]; }
  /// Ascending.
  const std::vector<ValueId>& members(int32_t group) const {
    return members_[static_cast<size_t>(group)];
  }
  /// The members whose numbers do not come from another member: inputs, constants, and what
  /// computing nodes give. Ascending.
  const std::vector<ValueId>& sources(int32_t group) const {
    return sources_[static_cast<size_t>(group)];
  }
  /// Whether the numbers of a source are known from `graph`, which the groups are of: a table.
  bool has_constant(const Graph& graph, int32_t group) const;

 private:
  std::vector<int32_t> group_of_;
  std::vector<std::vector<ValueId>> members_;
  std::vector<std::vector<ValueId>> sources_;
};

}  // namespace lathe
