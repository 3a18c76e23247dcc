#pragma once

#include "checkpoint/config.h"
#include "checkpoint/families/fields.h"
#include "support/json.h"

namespace lathe {

/// What all Gemmas share: scaled embeddings, norms with 1 + weight, tied embeddings by default.
void read_gemma_base(const JsonFields& config, const SizeDefaults& defaults, ModelConfig& out);

/// What Gemma 2 and 3 share: `hidden_activation`, `query_pre_attn_scalar`.
void read_gemma2_base(const JsonFields& config, const SizeDefaults& defaults, ModelConfig& out);

/// `sliding_window`, and `layer_types`: where they are missing every `pattern`-th layer attends
/// everything, and those before it slide.
void read_sliding_layers(const JsonFields& config, int64_t pattern, ModelConfig& out);

}  // namespace lathe
