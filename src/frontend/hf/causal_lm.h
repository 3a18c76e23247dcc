#pragma once

#include <memory>

#include "checkpoint/checkpoint.h"
#include "frontend/frontend.h"
#include "frontend/hf/blocks.h"

namespace lathe::hf {

/// In what the modeling file of a family differs from the others'.
struct Form {
  /// Rows of the table by id, as the first layer takes them: [1, AR, E].
  ValueId (*embed)(ModuleBuilder& b, ValueId ids);
  ValueId (*decoder_layer)(ModuleBuilder& b, const CallContext& call, size_t layer, ValueId hidden);
  Norm norm = rms_norm;        ///< the last one
  bool casts_rotation = true;  ///< rotary_embedding()
};

/// A decoder-only language model: inputs, embedding, masks, rotation, layers, last norm, head.
Graph build_causal_lm(std::shared_ptr<const Checkpoint> checkpoint, const GraphShape& shape,
                      const Form& form);

// --- embeddings

ValueId embed(ModuleBuilder& b, ValueId ids);
/// The config's multiplier as a number in the code.
ValueId embed_and_multiply(ModuleBuilder& b, ValueId ids);
/// The config's multiplier as a buffer of the embedding.
ValueId embed_scaled(ModuleBuilder& b, ValueId ids);

// --- decoder layers

/// Attention and MLP, each behind a norm, each added to the residual stream.
struct PreNormForm {
  Norm norm = rms_norm;
  AttentionForm attention = {};
  ValueId (*mlp)(ModuleBuilder& b, ValueId x) = gated_mlp;
  /// What becomes of the result of attention ("attn") and MLP ("mlp") before it is added; null:
  /// nothing.
  ValueId (*finish)(ModuleBuilder& b, const char* branch, ValueId x) = nullptr;
};
ValueId pre_norm_layer(ModuleBuilder& b, const CallContext& call, size_t layer, ValueId hidden,
                       const PreNormForm& form);

}  // namespace lathe::hf
