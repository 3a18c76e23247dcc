#pragma once

#include <vector>

#include "frontend/frontend.h"
#include "frontend/module_builder.h"

// What the layers of one call share, in the form that an NPU runs. Shapes: AR tokens per call, CL
// context, W window, Hkv key-value heads, D head dimension, R values of a head that rotate. S past
// tokens a layer: CL - AR, or min(W, CL - AR) where it slides over a window shorter than CL.
namespace lathe::static_form {

/// Keys and values of one layer.
struct LayerPair {
  ValueId keys = kNone;
  ValueId values = kNone;
};

/// What turns queries and keys.
struct Rotation {
  ValueId cos = kNone;  ///< f32 [1, 1, AR, R / 2]
  ValueId sin = kNone;  ///< f32 [1, 1, AR, R / 2]
};

/// What every layer of one call reads and adds to.
struct Call {
  GraphShape shape;
  StaticForm form;
  ValueId tokens = kNone;       ///< i32 [1, AR]
  ValueId mask = kNone;         ///< f32 [1, 1, AR, CL]: 0 attends
  ValueId window_mask = kNone;  ///< f32 [1, 1, AR, S + AR]: the slots of a ring, the new tokens
  ValueId position = kNone;     ///< i32 [1, AR]
  Rotation rotation;
  Rotation local_rotation;        ///< of sliding layers
  std::vector<LayerPair> caches;  ///< keys [1, Hkv, D, S], values [1, Hkv, S, D]
  std::vector<LayerPair> fresh;   ///< keys [1, Hkv, D, AR], values [1, Hkv, AR, D]
};

/// The inputs of the graph, and its window where layers have rings.
Call call_inputs(ModuleBuilder& b, const GraphShape& shape, const StaticForm& form);
/// The outputs of the graph: logits [1, AR, V] and the new pairs of all layers.
void call_outputs(ModuleBuilder& b, const Call& call, ValueId logits);

/// cos and sin for all kinds of layers: rows of tables [CL, R / 2] of position times inverse
/// frequency, times the attention factor of the config.
void rotary_embedding(ModuleBuilder& b, Call& call);

}  // namespace lathe::static_form
