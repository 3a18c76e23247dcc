#pragma once

#include <string>
#include <vector>

#include "frontend/frontend.h"
#include "frontend/module_builder.h"

// The parts that model families share, in the form that an NPU runs. Shapes: AR tokens per call,
// CL context, H heads, Hkv key-value heads, D head dimension, E hidden size, V vocabulary.
namespace lathe::static_form {

/// Keys and values of one layer.
struct LayerPair {
  ValueId keys = kNone;
  ValueId values = kNone;
};

/// What every layer of one call reads and adds to.
struct Call {
  GraphShape shape;
  StaticForm form;
  ValueId tokens = kNone;         ///< i32 [1, AR]
  ValueId mask = kNone;           ///< f32 [1, 1, AR, CL]: 0 attends
  ValueId position = kNone;       ///< i32 [1, AR]
  ValueId cos = kNone;            ///< f32 [1, 1, AR, D / 2]
  ValueId sin = kNone;            ///< f32 [1, 1, AR, D / 2]
  std::vector<LayerPair> caches;  ///< keys [1, Hkv, D, CL - AR], values [1, Hkv, CL - AR, D]
  std::vector<LayerPair> fresh;   ///< keys [1, Hkv, D, AR], values [1, Hkv, AR, D]
};

/// The inputs of the graph.
Call call_inputs(ModuleBuilder& b, const GraphShape& shape, const StaticForm& form);
/// The outputs of the graph: logits [1, AR, V] and the new pairs of all layers.
void call_outputs(ModuleBuilder& b, const Call& call, ValueId logits);

/// cos and sin: rows of tables [CL, D / 2] of position times inverse frequency, times `scaling`.
void rotary_embedding(ModuleBuilder& b, Call& call, const std::vector<float>& inverse_frequencies,
                      double scaling);

/// weight * (x * rsqrt(mean(x^2) + eps))
ValueId rms_norm(ModuleBuilder& b, const std::string& name, ValueId x);

/// Rows [1, AR, ...] as a convolution takes them: [1, width, 1, AR].
ValueId channels_first(ModuleBuilder& b, ValueId rows);
/// What a convolution gave, [1, N, 1, AR], as rows [1, AR, N].
ValueId rows_of(ModuleBuilder& b, ValueId channels);

/// x [1, AR, E] -> [1, AR, E]: projections, half-split rotary embedding, grouped-query attention
/// over the cached pairs and the new one, output projection.
ValueId attention(ModuleBuilder& b, Call& call, size_t layer, ValueId x);

/// down_proj(act_fn(gate_proj(x)) * up_proj(x)), channels first from end to end.
ValueId gated_mlp(ModuleBuilder& b, const Call& call, ValueId x);

}  // namespace lathe::static_form
