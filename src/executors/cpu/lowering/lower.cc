#include <algorithm>
#include <map>
#include <utility>

#include "executors/cpu/lowering/nodes.h"
#include "executors/cpu/lowering/plan_builder.h"
#include "executors/cpu/patterns.h"
#include "executors/cpu/plan.h"
#include "executors/reference/evaluable.h"
#include "graph/verifier.h"

namespace lathe {
namespace {

class Lowering {
 public:
  Lowering(std::shared_ptr<const Graph> graph, int threads)
      : graph_(*graph),
        users_(graph->users()),
        claimed_(static_cast<size_t>(graph->node_count()), false),
        plan_(std::move(graph), threads) {}

  Plan run() {
    find_patterns();
    for (const NodeId id : graph_.order()) {
      const Node& node = graph_.node(id);
      // The smallest score of a row, masked ones too, may be that of a later token.
      if (node.op == Op::masked_softmax) plan_.need_every_token();
      if (lower_pattern(node) || claimed_[static_cast<size_t>(id)]) continue;
      plan_.begin({id});
      const bool lowered = lower_movement(plan_, node) || lower_embedding(plan_, node) ||
                           lower_linear(plan_, node) || lower_rows(plan_, node) ||
                           lower_elementwise(plan_, node) || lower_matmul(plan_, node) ||
                           lower_index_copy(plan_, node);
      if (!lowered) lower_by_reference(plan_, node);
    }
    return plan_.finish();
  }

 private:
  void find_patterns() {
    // Attention covers products that would be found alone before it.
    for (const NodeId id : graph_.order()) find(graph_.node(id), match_attention, attentions_);
    for (const NodeId id : graph_.order()) {
      const Node& node = graph_.node(id);
      find(node, match_repeated_matmul, repeated_matmuls_);
      find(node, match_rope, ropes_);
      find(node, match_split_rope, split_ropes_);
      find(node, match_gated, gates_);
    }
  }

  /// A node belongs to one pattern at most: the first.
  template <typename Pattern, typename Match>
  void find(const Node& node, Match match, std::map<NodeId, Pattern>& found) {
    std::optional<Pattern> pattern = match(graph_, node, users_);
    if (!pattern) return;
    const auto claimed = [&](NodeId id) { return claimed_[static_cast<size_t>(id)]; };
    if (std::any_of(pattern->covered.begin(), pattern->covered.end(), claimed)) return;
    for (const NodeId id : pattern->covered) claimed_[static_cast<size_t>(id)] = true;
    found.emplace(node.id, std::move(*pattern));
  }

  /// Where the node gives the result of a pattern.
  bool lower_pattern(const Node& node) {
    return lower_found(node, attentions_, lower_attention) ||
           lower_found(node, repeated_matmuls_, lower_repeated_matmul) ||
           lower_found(node, ropes_, lower_rope) ||
           lower_found(node, split_ropes_, lower_split_rope) ||
           lower_found(node, gates_, lower_gated);
  }

  template <typename Pattern>
  bool lower_found(const Node& node, const std::map<NodeId, Pattern>& patterns,
                   void (*lower_one)(PlanBuilder&, const Pattern&)) {
    const auto found = patterns.find(node.id);
    if (found == patterns.end()) return false;
    plan_.begin(found->second.covered);
    lower_one(plan_, found->second);
    return true;
  }

  const Graph& graph_;
  std::vector<std::vector<NodeId>> users_;
  std::vector<bool> claimed_;  // by NodeId
  std::map<NodeId, AttentionPattern> attentions_;
  std::map<NodeId, RepeatedMatmulPattern> repeated_matmuls_;
  std::map<NodeId, RopePattern> ropes_;
  std::map<NodeId, SplitRopePattern> split_ropes_;
  std::map<NodeId, GatedPattern> gates_;
  PlanBuilder plan_;
};

}  // namespace

Plan lower(const Graph& graph, int threads) {
  verify(graph, true);
  return lower_verified(std::make_shared<const Graph>(graph), threads);
}

Plan lower_verified(std::shared_ptr<const Graph> graph, int threads) {
  require_evaluable(*graph);
  return Lowering(std::move(graph), threads).run();
}

}  // namespace lathe
