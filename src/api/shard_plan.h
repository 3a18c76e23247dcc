#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "passes/shards.h"

namespace lathe {

/// What is known of a context binary before it is compiled.
struct ContextEstimate {
  int64_t weight_bytes = 0;  ///< of both graphs, each weight once
  int64_t bytes = 0;         ///< of the file
};

/// Allocations that a chip's driver grants one graph: about 2 GB (docs/npu.md).
inline constexpr int64_t kContextLimit = int64_t{2'000'000'000};

/// Graphs of one context.
using ContextGraphs = std::vector<const Graph*>;

ContextEstimate estimate_context(const ContextGraphs& graphs);

/// "weights 135.1 MB, context about 147 MB of the 2000 MB that a graph may have"
std::string describe(const ContextEstimate& estimate);

/// Throws Error for more than `limit` bytes.
void require_fit(const ContextEstimate& estimate, int64_t limit = kContextLimit);

/// In how many shards to cut the graphs of a model, all alike: `least.count`, or as many more as it
/// takes for every context to stay within `limit` bytes; no more than there are layers. A part of
/// the embedding alone is no context.
int plan_shards(const ContextGraphs& graphs, const ShardOptions& least,
                int64_t limit = kContextLimit);

}  // namespace lathe
