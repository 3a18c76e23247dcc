#pragma once

#include <cstdint>
#include <string>

#include "frontend/static_form/call.h"

// The parts that model families share, in the form that an NPU runs. What they do follows from the
// config. Shapes: AR tokens per call, H heads, D head dimension, E hidden size.
namespace lathe::static_form {

/// x * factor; x where that is 1.
ValueId times(ModuleBuilder& b, ValueId x, double factor);

/// weight * (x * rsqrt(mean(x^2) + eps)), over the last dimension; 1 + weight where the config says
/// so.
ValueId rms_norm(ModuleBuilder& b, const std::string& name, ValueId x);

/// Rows [1, AR, ...] as a convolution takes them: [1, width, 1, AR].
ValueId channels_first(ModuleBuilder& b, ValueId rows);
/// What a convolution gave, [1, N, 1, AR], as rows [1, AR, N].
ValueId rows_of(ModuleBuilder& b, ValueId channels);

/// Whether the checkpoint keeps q_proj, k_proj and v_proj as one qkv_proj, and gate_proj and
/// up_proj as one gate_up_proj.
enum class Weights : uint8_t { separate, packed };

/// Where norms of heads stand: their numbers are the same in both places, the graphs are not.
enum class HeadNorm : uint8_t { before_transpose, after_transpose };

/// What an attention is, beside what the config says.
struct AttentionForm {
  Weights weights = Weights::separate;
  HeadNorm head_norm = HeadNorm::before_transpose;
};

/// x [1, AR, E] -> [1, AR, E]: projections, norms of queries and keys, rotary embedding,
/// grouped-query attention over the cached pairs and the new one, output projection, times the
/// residual multiplier.
ValueId attention(ModuleBuilder& b, Call& call, size_t layer, ValueId x, const AttentionForm& form);

/// down_proj(act_fn(gate_proj(x)) * up_proj(x)) times the residual multiplier, x [1, AR, E],
/// channels first from end to end.
ValueId gated_mlp(ModuleBuilder& b, const Call& call, ValueId x, Weights weights);

}  // namespace lathe::static_form
