#include "graph/diff/pairing.h"

#include <algorithm>
#include <map>
#include <vector>

#include "graph/text.h"

namespace lathe {
namespace {

/// There is one.
ValueId input_named(const Graph& graph, std::string_view name) {
  return *std::find_if(graph.inputs().begin(), graph.inputs().end(),
                       [&](ValueId id) { return graph.value(id).name == name; });
}

/// Pairs nodes by walking both graphs back from outputs that are alike.
class Pairing {
 public:
  explicit Pairing(const NumberedGraphs& graphs) : graphs_(graphs) {
    for (const size_t side : {size_t{0}, size_t{1}}) {
      partner_[side].assign(static_cast<size_t>(graphs.graph(side).node_count()), kNone);
    }
    for (const NumberedGraphs::OutputPair& output : graphs.outputs()) {
      if (!conflict_) walk(output);
    }
    if (!conflict_) conflict_ = unread_input();
    if (!conflict_) conflict_ = unpaired();
  }

  /// What speaks against it; unset: every node of one is paired with one of the other.
  const std::optional<GraphDifference>& conflict() const { return conflict_; }

 private:
  void walk(const NumberedGraphs::OutputPair& output) {
    std::vector<Pair> stack{output.values};
    while (!stack.empty() && !conflict_) {
      const Pair pair = stack.back();
      stack.pop_back();
      const Node* a = graphs_.producer(0, pair);
      const Node* b = graphs_.producer(1, pair);
      if (a == nullptr || b == nullptr) {
        pair_constants(pair);
      } else if (pair_nodes(pair, *a, *b)) {
        const std::vector<Pair> operands = paired_operands(*a, *b);
        stack.insert(stack.end(), operands.rbegin(), operands.rend());
      }
      if (conflict_) conflict_->output = output.name;
    }
  }

  /// Whether the pair is new.
  bool pair_nodes(const Pair& pair, const Node& a, const Node& b) {
    NodeId& of_a = partner_[0][static_cast<size_t>(a.id)];
    NodeId& of_b = partner_[1][static_cast<size_t>(b.id)];
    if (of_a == b.id && of_b == a.id) return false;
    if (of_a == kNone && of_b == kNone) {
      of_a = b.id;
      of_b = a.id;
      return true;
    }
    conflict_ = graphs_.describe(
        pair, of_a == kNone ? "computed more than once in the first, not in the second"
                            : "computed more than once in the second, not in the first");
    return false;
  }

  /// Constants that are known by their type alone belong together from their first pairing on.
  void pair_constants(const Pair& pair) {
    const Constant* a = graphs_.value(0, pair).constant.get();
    const Constant* b = graphs_.value(1, pair).constant.get();
    if (a == nullptr || b == nullptr) return;
    if (has_data(*a) && has_data(*b)) {
      // Unless they were numbered by type, their numbers say that their data is the same.
      const bool same =
          graphs_.no_data() == ValueNumbers::NoData::name || a == b ||
          content_hash(graphs_.value(0, pair)) == content_hash(graphs_.value(1, pair));
      if (!same) conflict_ = graphs_.describe(pair, "numbers of a constant");
      return;
    }
    const auto [of_a, new_a] = constants_[0].emplace(a, b);
    const auto [of_b, new_b] = constants_[1].emplace(b, a);
    if (of_a->second != b || of_b->second != a) {
      conflict_ = graphs_.describe(pair, "another constant");
    }
  }

  /// Where operands are alike among themselves, those go together that already do.
  std::vector<Pair> paired_operands(const Node& a, const Node& b) const {
    std::vector<Pair> pairs = graphs_.operands(a, b);
    if (!is_commutative(a)) return pairs;
    std::vector<Pair> crossed{{pairs[0][0], pairs[1][1]}, {pairs[1][0], pairs[0][1]}};
    const bool both_ways = std::all_of(crossed.begin(), crossed.end(),
                                       [&](const Pair& pair) { return graphs_.alike(pair); });
    const auto belong = [&](const Pair& pair) {
      const Node* x = graphs_.producer(0, pair);
      const Node* y = graphs_.producer(1, pair);
      return x != nullptr && y != nullptr && partner_[0][static_cast<size_t>(x->id)] == y->id;
    };
    const bool cross = both_ways && std::none_of(pairs.begin(), pairs.end(), belong) &&
                       std::any_of(crossed.begin(), crossed.end(), belong);
    return cross ? crossed : pairs;
  }

  /// An input that no node reads may still be of another type.
  std::optional<GraphDifference> unread_input() const {
    for (const ValueId id : graphs_.graph(0).inputs()) {
      const Pair pair{id, input_named(graphs_.graph(1), graphs_.graph(0).value(id).name)};
      if (!graphs_.alike(pair)) {
        return graphs_.describe(pair,
                                type_difference(graphs_.value(0, pair), graphs_.value(1, pair)));
      }
    }
    return std::nullopt;
  }

  /// The first node that no output needs.
  std::optional<GraphDifference> unpaired() const {
    for (const size_t side : {size_t{0}, size_t{1}}) {
      const Graph& graph = graphs_.graph(side);
      for (const NodeId id : graph.order()) {
        if (partner_[side][static_cast<size_t>(id)] != kNone) continue;
        GraphDifference difference;
        difference.module = graph.node(id).module;
        difference.what = "a node that no output needs";
        (side == 0 ? difference.first : difference.second) =
            print_value(graph, graph.node(id).output());
        return difference;
      }
    }
    return std::nullopt;
  }

  const NumberedGraphs& graphs_;
  Both<std::vector<NodeId>> partner_;  // by node id
  Both<std::map<const Constant*, const Constant*>> constants_;
  std::optional<GraphDifference> conflict_;
};

}  // namespace

std::optional<GraphDifference> pair_nodes(const NumberedGraphs& graphs) {
  return Pairing(graphs).conflict();
}

}  // namespace lathe
