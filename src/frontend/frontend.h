#pragma once

#include <cstdint>
#include <memory>

#include "checkpoint/checkpoint.h"
#include "graph/graph.h"

namespace lathe {

/// What a graph is built for.
struct GraphShape {
  GraphRole role = GraphRole::decode;
  int64_t tokens_per_call = 1;  ///< AR
  int64_t context = 0;          ///< CL
};

/// The float graph that Hugging Face's modeling code has, as torch.export records it (eager
/// attention, static cache): ATen operators, module paths on every node, whole caches updated by
/// index_copy_, mask and RoPE computed in the graph. Weights stay in the checkpoint until used.
///   inputs:  input_ids i64 [1, AR], cache_position i64 [AR],
///            static_cache.layers.i.keys / .values f32 [1, Hkv, CL, D],
///            static_cache.layers.i.cumulative_length i64 []
///   outputs: logits f32 [1, AR, V], layers.i.keys / .values f32 [1, Hkv, CL, D]
/// Graphs of all roles have the same ids. Throws Error for a family without a frontend.
Graph build_hf_graph(std::shared_ptr<const Checkpoint> checkpoint, const GraphShape& shape);

}  // namespace lathe
