#pragma once

#include <map>
#include <optional>
#include <set>

#include "graph/graph.h"
#include "passes/match.h"

namespace lathe {

/// Where a value holds its heads, and how many.
struct HeadAxis {
  size_t axis = 1;
  int64_t heads = 0;
  bool operator==(const HeadAxis&) const = default;
};

/// A projection and its way to heads, in this form only:
///   conv2d [1, h * D, 1, AR] -> (requantize) -> permute [1, AR, h * D, 1]
///     -> reshape [1, AR, h, D] -> transpose [1, h, AR, D], or permute [1, h, D, AR]
struct HeadProjection {
  NodeId product = kNone;     ///< conv2d; kNone: there is one head, which all queries share
  NodeId requantize = kNone;  ///< kNone: none
  NodeId turn = kNone;        ///< the transpose or permute
  int64_t heads = 0;
  int64_t head_dim = 0;
};

/// One attention, from its projections to what its output projection reads. Every value on the way
/// is typed: either it holds heads along a known axis, or all heads share it as it is. Masks, cos,
/// sin and scales are shared; what changes queries, keys and scores on the way (RoPE, R3, norms,
/// requantize, the past in front of the new keys) may be anything that keeps heads apart.
struct AttentionRegion {
  HeadProjection query;
  HeadProjection key;
  HeadProjection value;
  NodeId scores = kNone;  ///< matmul of queries [1, H, AR, D] and keys [1, H, D, CL]
  NodeId mix = kNone;     ///< matmul of softmax [1, H, AR, CL] and values [1, H, CL, D]
  NodeId merge = kNone;   ///< transpose of the result to [1, AR, H, D]
  NodeId joined = kNone;  ///< the reshape of that to rows of H * D

  /// Heads [1, h, AR, D] out of rows that a norm over all heads gave: made together, and cut apart
  /// as they are.
  std::set<ValueId> made_together;

  /// Every value that holds heads, past caches included.
  std::map<ValueId, HeadAxis> heads;
  /// Grouped queries: the repeated heads [1, H, ...] and the [1, Hkv, ...] that they repeat.
  std::map<ValueId, ValueId> repeats;
};

/// The region around `mix`, or nothing where it is no attention of more than one head or where
/// something on the way has no type.
std::optional<AttentionRegion> find_attention(const Graph& graph, const Users& users,
                                              const Node& mix);

}  // namespace lathe
