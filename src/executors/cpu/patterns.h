#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"

namespace lathe {

/// Parts of an integer graph that the CPU runs as one step, recognised by structure. Each lists the
/// nodes it covers (the last gives the result); none of their other results is read outside.

/// tanh(x / divisor) * factor: what keeps scores within -factor to factor
struct SoftcapPattern {
  double divisor = 0.0;
  ValueId divided = kNone;
  ValueId curved = kNone;
  double factor = 0.0;
  ValueId capped = kNone;
};

/// softmax(s + mask) V, or masked_softmax(s, mask) V, of scores s = q K * scale, perhaps with a
/// soft cap, with u8 keys and values, past and new ones concatenated, and each key-value head
/// standing for `groups` query heads.
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
  std::optional<SoftcapPattern> softcap;
  ValueId masked = kNone;       // kNone: there is none, the softmax takes the mask
  std::optional<double> below;  // of a masked softmax
  ValueId weights = kNone;      // softmax
  ValueId result = kNone;       // [1, H, AR, D]
  double scale = 1.0;
  int64_t groups = 1;
};
std::optional<AttentionPattern> match_attention(const Graph& graph, const Node& last,
                                                const std::vector<std::vector<NodeId>>& users);

/// matmul(a, repeated b) where each matrix of b stands for `groups` heads of a: as it is, or with
/// rows and columns exchanged.
struct RepeatedMatmulPattern {
  std::vector<NodeId> covered;
  ValueId a = kNone;  // u16 [1, H, M, K]
  ValueId b = kNone;  // u16 or u8 [1, Hkv, K, N], or [1, Hkv, N, K] where exchanged
  int64_t groups = 1;
  bool exchanged = false;
  ValueId result = kNone;  // u16 [1, H, M, N]
};
std::optional<RepeatedMatmulPattern> match_repeated_matmul(
    const Graph& graph, const Node& last, const std::vector<std::vector<NodeId>>& users);

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

/// cat(x1 * cos - x2 * sin, x2 * cos + x1 * sin, x3) of x = [x1 | x2 | x3], every head cut into two
/// halves that rotate and the rest, which may be nothing, with one row of cos and sin a token. All
/// parts may be requantized to u8 before they are concatenated.
struct SplitRopePattern {
  std::vector<NodeId> covered;
  ValueId x = kNone;     // [1, heads, AR, D]
  int64_t rotating = 0;  // R, values of x1 and x2
  ValueId cos = kNone;   // [1, 1, AR, R / 2]
  ValueId sin = kNone;   // [1, 1, AR, R / 2]
  ValueId x1_cos = kNone;
  ValueId x2_sin = kNone;
  ValueId x2_cos = kNone;
  ValueId x1_sin = kNone;
  ValueId low = kNone;     // x1 * cos - x2 * sin, u16
  ValueId high = kNone;    // x2 * cos + x1 * sin, u16
  ValueId result = kNone;  // u16 or u8
};
std::optional<SplitRopePattern> match_split_rope(const Graph& graph, const Node& last,
                                                 const std::vector<std::vector<NodeId>>& users);

/// f(gate) * up, where f is silu, or gelu as tanh approximates it
struct GatedPattern {
  std::vector<NodeId> covered;
  Op activation = Op::silu;
  ValueId gate = kNone;
  ValueId activated = kNone;
  ValueId up = kNone;
  ValueId result = kNone;
};
std::optional<GatedPattern> match_gated(const Graph& graph, const Node& last,
                                        const std::vector<std::vector<NodeId>>& users);

}  // namespace lathe
