#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"

namespace lathe {

/// Parts of an integer graph that the CPU runs as one step, recognised by structure. Each lists the
/// nodes it covers (the last gives the result); none of their other results is read outside.

/// softmax(q K * scale + mask) V with u8 keys and values, past and new ones concatenated, and each
/// key-value head standing for `groups` query heads.
struct AttentionPattern {
  std::vector<NodeId> covered;
  ValueId query = kNone;        // [1, H, AR, D]
  ValueId past_keys = kNone;    // graph input [1, Hkv, D, CL - AR]
  ValueId new_keys = kNone;     // [1, Hkv, D, AR]
  ValueId past_values = kNone;  // graph input [1, Hkv, CL - AR, D]
  ValueId new_values = kNone;   // [1, Hkv, AR, D]
  ValueId mask = kNone;         // graph input [1, 1, AR, CL]
  ValueId scores = kNone;
  ValueId scaled = kNone;
  ValueId masked = kNone;
  ValueId weights = kNone;  // softmax
  ValueId result = kNone;   // [1, H, AR, D]
  double scale = 1.0;
  int64_t groups = 1;
};
std::optional<AttentionPattern> match_attention(const Graph& graph, const Node& last,
                                                const std::vector<std::vector<NodeId>>& users);

/// x * cos + cat(-x2, x1) * sin with one row of cos and sin a token.
struct RopePattern {
  std::vector<NodeId> covered;
  ValueId x = kNone;    // [1, heads, AR, D]
  ValueId cos = kNone;  // [1, 1, AR, D]
  ValueId sin = kNone;  // [1, 1, AR, D]
  ValueId rotated = kNone;
  ValueId x_cos = kNone;
  ValueId rotated_sin = kNone;
  ValueId result = kNone;
};
std::optional<RopePattern> match_rope(const Graph& graph, const Node& last,
                                      const std::vector<std::vector<NodeId>>& users);

/// silu(gate) * up
struct GatedPattern {
  std::vector<NodeId> covered;
  ValueId gate = kNone;
  ValueId activated = kNone;
  ValueId up = kNone;
  ValueId result = kNone;
};
std::optional<GatedPattern> match_gated(const Graph& graph, const Node& last,
                                        const std::vector<std::vector<NodeId>>& users);

}  // namespace lathe
