#pragma once

#include <memory>

#include "checkpoint/checkpoint.h"
#include "frontend/frontend.h"
#include "frontend/static_form/blocks.h"

namespace lathe::static_form {

/// hidden [1, AR, E] -> [1, AR, E]
using DecoderLayer = ValueId (*)(ModuleBuilder& b, Call& call, size_t layer, ValueId hidden);

/// A decoder-only language model: inputs, embedding, rotation, layers, last norm, head.
Graph build_causal_lm(std::shared_ptr<const Checkpoint> checkpoint, const GraphShape& shape,
                      const StaticForm& form, DecoderLayer decoder_layer);

/// How a checkpoint keeps the projections of a layer.
struct LayerWeights {
  Weights attention = Weights::separate;
  Weights mlp = Weights::separate;
};

/// Attention and MLP, each behind a norm, each added to the residual stream.
ValueId pre_norm_layer(ModuleBuilder& b, Call& call, size_t layer, ValueId hidden,
                       const LayerWeights& weights);

}  // namespace lathe::static_form
