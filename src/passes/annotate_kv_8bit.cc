// Before:                                            After:
//   input %v_cache_0 ~u16                              input %v_cache_0 ~u8:symmetric
//   %conv2d = aten.conv2d(%x, %w) ~u16                 %conv2d = aten.conv2d(%x, %w)
//                                                                            ~u16>u8:symmetric
//   %permute = aten.permute(%conv2d) ~u16              %permute = ... ~u8:symmetric
//   %reshape = aten.reshape(%permute) ~u16             %reshape = ... ~u8:symmetric
//   %cat = aten.cat(%v_cache_0, %reshape) ~u16         %cat = ... ~u8:symmetric
//   %matmul = aten.matmul(%softmax, %cat) ~u16         %matmul = aten.matmul(%softmax, %cat) ~u16
//
// Of keys in which a part of each head rotates, the other part begins behind the slice:
//   %k = aten.transpose(%heads) ~u16                   %k = aten.transpose(%heads) ~u16
//   %x1 = aten.slice(%k) ~u16                          %x1 = aten.slice(%k) ~u16
//   ...                                                ...
//   %high = aten.add(%a, %b) ~u16                      %high = aten.add(%a, %b) ~u16>u8:symmetric
//   %rest = aten.slice(%k) ~u16                        %rest = aten.slice(%k) ~u16>u8:symmetric
//   %key = aten.cat(%low, %high, %rest) ~u16           %key = ... ~u8:symmetric

#include <algorithm>
#include <ranges>

#include "graph/groups.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace lathe {
namespace {

bool is_cache(const Graph& graph, ValueId id, const Users& users) {
  const std::string& name = graph.value(id).name;
  if (name.starts_with("k_cache_") || name.starts_with("v_cache_")) return true;
  const std::vector<NodeId>& readers = users[static_cast<size_t>(id)];
  return std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
    return graph.node(reader).op == Op::index_copy_ && graph.node(reader).inputs[0] == id;
  });
}

/// By group: whether it holds keys or values.
std::vector<bool> find_keys_and_values(const Graph& graph, const Groups& groups,
                                       const Users& users) {
  std::vector<bool> found(static_cast<size_t>(groups.count()), false);
  const auto mark = [&](ValueId id) { found[static_cast<size_t>(groups.of(id))] = true; };
  const auto is_activation = [&](ValueId id) {
    const int32_t group = groups.of(id);
    return group != kNone && !groups.has_constant(graph, group);
  };
  for (const ValueId id : graph.inputs()) {
    if (groups.of(id) != kNone && is_cache(graph, id, users)) mark(id);
  }
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.op != Op::matmul) continue;
    if (is_activation(node.inputs[0]) && is_activation(node.inputs[1])) mark(node.inputs[1]);
  }
  return found;
}

/// Which values are read as 8 bits.
class EightBits {
 public:
  explicit EightBits(const Graph& graph)
      : graph_(graph), users_(graph.users()), eight_(users_.size(), false) {
    const Groups groups(graph);
    const std::vector<bool> keys_and_values = find_keys_and_values(graph, groups, users_);
    for (int32_t group = 0; group < groups.count(); ++group) {
      if (!keys_and_values[static_cast<size_t>(group)]) continue;
      for (const ValueId id : groups.members(group)) {
        eight_[static_cast<size_t>(id)] = true;
        values_.push_back(id);
      }
    }
    while (leave_to_others()) {
    }
  }

  const std::vector<ValueId>& candidates() const { return values_; }
  bool holds(ValueId id) const { return eight_[static_cast<size_t>(id)]; }
  /// Whether a value is still made as it was, and read as 8 bits from there on.
  bool begins_at(ValueId id) const {
    const Node* node = graph_.producer(id);
    return node != nullptr && (!is_moved(*node) || !moves_eight_bits(*node));
  }

 private:
  bool is_moved(const Node& node) const {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (moves_codes(graph_, node, i)) return true;
    }
    return false;
  }

  bool moves_eight_bits(const Node& node) const {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (moves_codes(graph_, node, i) && !holds(node.inputs[i])) return false;
    }
    return holds(node.output());
  }

  /// Numbers that something is computed from are not rounded on their way to it: what only moves
  /// them stays as it was, and 8 bits begin behind it. True where that made a difference.
  bool leave_to_others() {
    bool changed = false;
    // Later values first: what they leave reaches earlier ones at once.
    for (const ValueId id : std::views::reverse(values_)) {
      if (!holds(id) || graph_.producer(id) == nullptr || all_read_eight_bits(id)) continue;
      eight_[static_cast<size_t>(id)] = false;
      changed = true;
    }
    return changed;
  }

  bool all_read_eight_bits(ValueId id) const {
    const bool moved = is_moved(*graph_.producer(id));
    for (const NodeId user : users_[static_cast<size_t>(id)]) {
      const Node& reader = graph_.node(user);
      for (size_t i = 0; i < reader.inputs.size(); ++i) {
        if (reader.inputs[i] != id || (reader.op == Op::matmul && i == 1)) continue;
        if (moves_codes(graph_, reader, i) ? !moves_eight_bits(reader) : moved) return false;
      }
    }
    return true;
  }

  const Graph& graph_;
  const Users users_;
  std::vector<bool> eight_;  // by value
  std::vector<ValueId> values_;
};

}  // namespace

void annotate_kv_8bit(Graph& graph, const PassOptions& options) {
  if (options.kv_bits != 8) return;
  const QuantSpec eight_bits{DType::u8, Scheme::symmetric};
  const EightBits found(graph);
  for (const ValueId id : found.candidates()) {
    if (!found.holds(id)) continue;
    if (found.begins_at(id)) {
      graph.set_read_as(id, eight_bits);
    } else {
      graph.set_spec(id, eight_bits);
    }
  }
}

}  // namespace lathe
