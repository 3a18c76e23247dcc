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

/// Choices in the static form that depend on what runs it.
struct StaticForm {
  /// Queries and keys are rotated after RoPE: by a hadamard node where the head dimension is a
  /// power of two, else by a product with a fixed orthogonal matrix.
  bool r3 = false;
  /// mul(x, sigmoid(x)) in place of silu(x).
  bool decomposed_silu = false;
  /// masked_softmax(scores, mask) in place of softmax(scores + mask).
  bool masked_softmax = false;
};

/// The float graph as one writes it for an NPU by hand, and what the passes are measured by:
/// projections as 1x1 convolutions, rows of RoPE tables picked by position, caches of which only
/// the new pair comes back, keys transposed. Weights stay in the checkpoint until used.
///   inputs:  tokens i32 [1, AR], attention_mask f32 [1, 1, AR, CL], window_attention_mask f32
///            [1, 1, AR, S + AR], position i32 [1, AR], k_cache_i f32 [1, Hkv, D, S],
///            v_cache_i f32 [1, Hkv, S, D]; S = CL - AR, or min(W, CL - AR) where a layer slides
///            over a window W shorter than CL; of the masks those that layers read
///   outputs: logits f32 [1, AR, V], k_new_i f32 [1, Hkv, D, AR], v_new_i f32 [1, Hkv, AR, D]
/// Graphs of all roles have the same ids. Throws Error for a family without a frontend.
Graph build_static_graph(std::shared_ptr<const Checkpoint> checkpoint, const GraphShape& shape,
                         const StaticForm& form);

}  // namespace lathe
