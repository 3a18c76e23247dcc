#pragma once

#include <string_view>

#include "graph/graph.h"

namespace lathe {

/// A rewrite of a graph: one file each. It leaves the graph's meaning unchanged, keeps module paths
/// on what it writes, and does the same things in the same order for every role.
struct Pass {
  std::string_view name;
  void (*run)(Graph& graph);
};

/// Drops what changes nothing: alias, dropout, a type change to the same type, a product with 1, a
/// reshape or expand to the same shape, and in-place copies (replaced by what is copied).
void remove_redundancy(Graph& graph);

/// mul(weight, mul(x, rsqrt(add(mean(pow(x, 2)), eps)))) -> rms_norm(x, weight) {eps}
void recompose_rms_norm(Graph& graph);

/// cos and sin of position times inverse frequency -> rows of host tables [CL, D] in float32,
/// picked by the new input `position` i32 [1, AR]. No trigonometry and no inv_freq stay in the
/// graph.
void precomputed_rope(Graph& graph);

/// Whole caches updated by index_copy_ -> caches as inputs that only give back the new pair:
/// k_cache_i [1, Hkv, D, CL - AR] (keys transposed), v_cache_i [1, Hkv, CL - AR, D], concatenated
/// with the new keys and values; outputs k_new_i [1, Hkv, D, AR] and v_new_i [1, Hkv, AR, D]. The
/// mask becomes the input `attention_mask` [1, 1, AR, CL], the ids `tokens` i32 [1, AR].
void custom_static_cache(Graph& graph);

/// Folds an orthogonal rotation of the residual stream into the weights around it, so that no
/// single channel dominates the stream's encoding (R1). The graph computes the same numbers. Does
/// nothing where the stream has other writers than embeddings and linears, or other readers than
/// norms in front of linears.
void rotate_residual(Graph& graph);

/// Folds an orthogonal rotation of every head's values into the projections around attention (R2),
/// so that no single dimension dominates the encoding of the value cache. The graph computes the
/// same numbers. Leaves an attention alone whose values or results go another way.
void rotate_values(Graph& graph);

/// Removes nodes and inputs that no output needs.
void dead_code(Graph& graph);

}  // namespace lathe
