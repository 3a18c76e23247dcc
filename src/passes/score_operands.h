#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "graph/graph.h"

namespace lathe {

/// An input of a node.
struct Place {
  NodeId reader = kNone;
  size_t input = 0;
};

/// Where an attention reads its queries [1, H, AR, D] and its new keys [1, Hkv, AR, D]: keys on
/// their way to the product, before they are transposed or join the past, whichever is first.
struct ScoreOperands {
  Place queries;
  Place keys;
};

/// An attention of a float graph, recognised by the product behind its softmax.
struct AttentionScores {
  NodeId mix = kNone;                     ///< the product of shares and values
  std::optional<ScoreOperands> operands;  ///< unset: queries and keys were not found
};

/// Every attention, in execution order.
std::vector<AttentionScores> find_attention_scores(const Graph& graph);

}  // namespace lathe
