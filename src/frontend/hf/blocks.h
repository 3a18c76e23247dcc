#pragma once

#include <cstdint>
#include <string>

#include "frontend/hf/call.h"
#include "frontend/module_builder.h"

// The parts of modeling files of Hugging Face, operator by operator as torch.export records them. A
// family is a choice of them (causal_lm.h). Shapes: AR tokens per call, CL context, H heads, Hkv
// key-value heads, D head dimension, E hidden size.
namespace lathe::hf {

// --- norms: weight * (x * rsqrt(mean(x^2) + eps))

/// The normalized value and, as the modeling code does, the input as the norm saw it (the residual
/// branch goes on from there).
struct Normalized {
  ValueId input = kNone;
  ValueId output = kNone;
};
using Norm = Normalized (*)(ModuleBuilder& b, const std::string& name, ValueId x);

/// Llama's, and most others'.
Normalized rms_norm(ModuleBuilder& b, const std::string& name, ValueId x);
/// OLMo 2's: the same, multiplied before the type is that of the hidden states again.
Normalized olmo2_norm(ModuleBuilder& b, const std::string& name, ValueId x);
/// Gemma's: (1 + weight) * ...
Normalized gemma_norm(ModuleBuilder& b, const std::string& name, ValueId x);

// --- attention

/// What an attention multiplies, [1, H or Hkv, AR, D].
struct Heads {
  ValueId query = kNone;
  ValueId key = kNone;
  ValueId value = kNone;
};

/// q_proj, k_proj and v_proj of x [1, AR, E], cut into heads.
Heads project(ModuleBuilder& b, ValueId x);
/// Qwen 3: queries and keys normalized head by head, before heads come first.
Heads project_and_norm(ModuleBuilder& b, ValueId x);
/// Gemma 3: the same, after heads have come first.
Heads project_then_norm(ModuleBuilder& b, ValueId x);
/// OLMo 2: queries and keys normalized over all heads at once.
Heads project_and_norm_whole(ModuleBuilder& b, ValueId x);
/// Phi 3: one projection for all.
Heads project_packed(ModuleBuilder& b, ValueId x);

/// Turns queries and keys.
using Rotate = void (*)(ModuleBuilder& b, const Rotation& rotation, Heads& heads);

/// x * cos + cat(-x2, x1) * sin, for x = [x1 | x2].
void rotate_halves(ModuleBuilder& b, const Rotation& rotation, Heads& heads);
/// OLMo 2: the same, and the type of before.
void rotate_halves_and_cast(ModuleBuilder& b, const Rotation& rotation, Heads& heads);
/// Phi 3: only the first values of each head rotate.
void rotate_first_values(ModuleBuilder& b, const Rotation& rotation, Heads& heads);
/// GLM: only the first values of each head rotate, in pairs (2i, 2i + 1).
void rotate_first_pairs(ModuleBuilder& b, const Rotation& rotation, Heads& heads);

/// How a family gets from hidden states to turned heads.
struct AttentionForm {
  Heads (*project)(ModuleBuilder& b, ValueId x) = hf::project;
  Rotate rotate = rotate_halves;
};

/// x [1, AR, E] -> [1, AR, E]: projections, rotary embedding, whole-cache update, grouped-query
/// attention (eager) under the layer's mask, output projection. Records the updated caches as
/// outputs of the graph.
ValueId attention(ModuleBuilder& b, const CallContext& call, size_t layer, ValueId x,
                  const AttentionForm& form);

// --- feed-forward networks, x [1, AR, E] -> [1, AR, E]

/// down_proj(act_fn(gate_proj(x)) * up_proj(x))
ValueId gated_mlp(ModuleBuilder& b, ValueId x);
/// The same with gate and up in one projection.
ValueId packed_mlp(ModuleBuilder& b, ValueId x);

}  // namespace lathe::hf
