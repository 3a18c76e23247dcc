#pragma once

#include "graph/graph.h"

namespace lathe {

/// What an attention layer under test looks like.
struct LayerForm {
  int heads = 4;     ///< H, of dimension 8
  int kv_heads = 2;  ///< Hkv
  int tokens = 2;    ///< AR; the context is 6
  bool bias = false;
  /// Queries and keys rotate; else keys go from rows to columns in one permutation.
  bool rotary = true;
  bool hadamard = false;        ///< R3 behind RoPE
  bool masked_softmax = false;  ///< the softmax takes the mask
  bool whole_norm = false;      ///< norms over all queries and all keys
  /// Heads come out of one reshape; else out of two, as convert_linear_to_conv2d leaves them.
  bool fused = true;
};

/// Attention with a past, from the input of its projections to the output of its
/// output projection, in the final float form; constants are filled.
Graph attention_layer(const LayerForm& form);

}  // namespace lathe
