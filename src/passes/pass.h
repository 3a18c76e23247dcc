#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace lathe {

/// What passes ask of the model's recipe and of the command line.
struct PassOptions {
  DType activation = DType::u16;  ///< u16 or u8, affine
  int kv_bits = 8;                ///< of what caches hold: 8 (u8 symmetric) or 16 (u16 affine)
  bool r3 = false;                ///< rotate queries and keys after RoPE
  bool masked_softmax = false;    ///< masks replace scores instead of being added to them
  /// Products (linear, conv2d) whose input and result have another spec than `activation`.
  std::map<NodeId, QuantSpec> products = {};
};

/// A rewrite of a graph: one file each. It leaves the graph's meaning unchanged, keeps module paths
/// on what it writes, and does the same things in the same order for every role.
struct Pass {
  std::string_view name;
  void (*run)(Graph& graph, const PassOptions& options);
  bool needed = false;  ///< without it there is no integer graph in the end
};

// --- from the graph as it was traced to the static float graph

/// Drops what changes nothing: alias, dropout, a type change to the same type, a product with 1, a
/// reshape, expand or slice to the same shape, a concatenation with nothing, and in-place copies
/// (replaced by what is copied).
void remove_redundancy(Graph& graph);

/// What is computed from constants alone becomes a constant, and a constant of one number an
/// attribute.
void fold_constants(Graph& graph);

/// linear(x, W) that is only read in slices -> one linear for each, with its rows of W.
void split_projections(Graph& graph);

/// A mask computed in the graph is as low as the fixed encoding of masks goes, -255, where it was
/// the lowest float.
void bounded_mask(Graph& graph);

/// mul(weight, mul(x, rsqrt(add(mean(pow(x, 2)), eps)))) -> rms_norm(x, weight) {eps}
void recompose_rms_norm(Graph& graph);

/// mul(x, sigmoid(x)) -> silu(x): one step of the CPU.
void recompose_silu(Graph& graph);

/// silu(x) -> mul(x, sigmoid(x)): an NPU has a sigmoid with a fixed encoding, and no silu.
void decompose_silu(Graph& graph);

/// cos and sin of position times inverse frequency -> rows of host tables [CL, D] in float32,
/// picked by the new input `position` i32 [1, AR]. No trigonometry and no inv_freq stay in the
/// graph.
void precomputed_rope(Graph& graph);

/// Queries and keys of which neighbours turn together, pairs (2i, 2i + 1) -> halves (i, i + R / 2),
/// as in other models: the channels of both projections change places, so that their products stay
/// as they are, and no number is moved while the graph runs. Leaves a graph alone where only one of
/// the two was found in an attention.
void deinterleave_rope(Graph& graph);

/// x * cos + cat(-x2, x1) * sin with tables whose halves are alike -> the half-split form
/// cat(x1 * cos - x2 * sin, x2 * cos + x1 * sin) with tables [CL, D / 2]: no negation, half the
/// table, and keys end in a concat of sums, where their 8 bits begin.
void canonicalize_rope(Graph& graph);

/// Whole caches updated by index_copy_ -> caches as inputs that only give back the new pair:
/// k_cache_i [1, Hkv, D, CL - AR] (keys transposed), v_cache_i [1, Hkv, CL - AR, D], concatenated
/// with the new keys and values; outputs k_new_i [1, Hkv, D, AR] and v_new_i [1, Hkv, AR, D]. The
/// mask becomes the input `attention_mask` [1, 1, AR, CL], the ids `tokens` i32 [1, AR]. A layer
/// whose mask reaches back less than CL has caches of S = min(W, CL - AR) slots under the input
/// `window_attention_mask` [1, 1, AR, S + AR], W positions of window.
void custom_static_cache(Graph& graph);

/// Rotates queries and keys of every attention by the same orthogonal matrix after RoPE (R3): their
/// products stay as they are, and no dimension of the key cache dominates its encoding. A hadamard
/// node where the head dimension is a power of two, else a product with a fixed matrix. Does
/// nothing unless options.r3. Throws Error where a key or query is not found.
void r3(Graph& graph, const PassOptions& options);

/// softmax(scores + mask) -> masked_softmax(scores, mask): masked scores become the smallest of
/// their row less 20, and the range of the scores is not stretched by the mask. Does nothing unless
/// options.masked_softmax.
void masked_softmax(Graph& graph, const PassOptions& options);

/// linear(x, W) -> reshape, permute, conv2d 1x1, permute, reshape. Linears of the same input share
/// the way in; tied weights are rewritten once.
void convert_linear_to_conv2d(Graph& graph);

/// The inverse, for executors that multiply rows. Gives the pairs of values that hold the same
/// numbers: what each new linear gives, and what its conv2d gave.
std::vector<std::pair<ValueId, ValueId>> convert_conv2d_to_linear(Graph& graph);

/// Moves reshapes and permutes from in front of elementwise operators to behind them, where they
/// meet others and vanish: between its convolutions an MLP stays in their layout.
void sink_layout(Graph& graph);

/// Chains of view, reshape and unsqueeze -> one reshape to the last shape; none where that is the
/// first shape.
void fuse_consecutive_reshape(Graph& graph);

/// Chains of permute and transpose -> one permute; none where they undo each other.
void fuse_consecutive_permute(Graph& graph);

/// Chains of type or encoding changes that lose nothing on the way -> one; none where the last type
/// is the first.
void fuse_consecutive_cast(Graph& graph);

// --- transforms: the float result stays, the weights change

/// Folds an orthogonal rotation of the residual stream into the weights around it, so that no
/// single channel dominates the stream's encoding (R1). The graph computes the same numbers. Does
/// nothing where the stream has other writers than embeddings and projections, or other readers
/// than norms in front of projections.
void rotate_residual(Graph& graph);

/// Folds an orthogonal rotation of every head's values into the projections around attention (R2),
/// so that no single dimension dominates the encoding of the value cache. The graph computes the
/// same numbers. Leaves an attention alone whose values or results go another way.
void rotate_values(Graph& graph);

// --- annotation of a float graph: Value::spec and Value::read_as

/// Gives every weight and bias that is read in more than one place a value for each place: their
/// codes differ from those of an activation, and a bias counts in steps of its own product.
void separate_weights(Graph& graph);

/// Every value that an integer graph holds as codes gets the spec of its group: values joined by
/// operators that move codes share one. Softmax and sigmoid give `unit`, masks are `mask`, rows of
/// cos and sin tables `rotary`, all else is affine in options.activation. Throws Error where a mask
/// shares its group with something else.
void annotate(Graph& graph, const PassOptions& options);

/// The products in options.products read their input and hold their result in a spec of their own:
/// the input through a requantize node, directly behind the node that makes it; the result with all
/// that only moves it.
void annotate_products(Graph& graph, const PassOptions& options);

/// What attention multiplies by (the second operand of a product of two activations) and what
/// caches hold becomes 8-bit symmetric: back from there through every operator that moves codes, to
/// the operator that computes them, which keeps its own spec and is read as 8-bit. What is also
/// moved to where something else is computed (a key of which a part rotates) stays as it is up to
/// where the ways part. Does nothing with 16-bit caches.
void annotate_kv_8bit(Graph& graph, const PassOptions& options);

/// Where a value is read in another way than it is made, a requantize node directly after the node
/// that makes it: conv2d(16) -> requantize(8) -> permute(8) -> reshape(8). Readers that compute
/// keep the numbers as they were made.
void insert_requantize(Graph& graph);

// --- integer graphs

/// dequantize -> operator -> quantize becomes the operator on codes.
void fold_qdq(Graph& graph);

/// The quantize behind a graph input and the dequantize before an output move out of the graph:
/// tokens and positions stay integers, everything else crosses the boundary as codes.
void tag_quant_io(Graph& graph);

/// Attention with one matrix product for all heads -> one for each head, with projections and their
/// scales cut by head and the results concatenated: what an NPU runs in parallel. Bit for bit the
/// same results. Grouped key-value heads are shared, not repeated.
void mha_to_sha(Graph& graph);

/// Removes nodes and inputs that no output needs.
void dead_code(Graph& graph);

}  // namespace lathe
