#pragma once

#include <string>
#include <vector>

#include "frontend/frontend.h"
#include "frontend/module_builder.h"

// The parts that modeling files of Hugging Face share, operator by operator as torch.export records
// them. Shapes: AR tokens per call, CL context, H heads, Hkv key-value heads, D head dimension,
// E hidden size.
namespace lathe::hf {

/// The static cache of one layer and how many positions it holds so far.
struct LayerCache {
  ValueId keys = kNone;    ///< input f32 [1, Hkv, CL, D]
  ValueId values = kNone;  ///< input f32 [1, Hkv, CL, D]
  ValueId filled = kNone;  ///< i64 []
};

/// What every layer of one call reads.
struct CallContext {
  GraphShape shape;
  ValueId position_ids = kNone;  ///< i64 [1, AR]
  ValueId mask = kNone;          ///< f32 [1, 1, AR, CL]: 0 attends, the lowest float is masked
  ValueId cos = kNone;           ///< f32 [1, AR, D]
  ValueId sin = kNone;           ///< f32 [1, AR, D]
  std::vector<LayerCache> caches;
};

/// The caches as graph inputs, with the count of each set to the first of `cache_position`.
std::vector<LayerCache> cache_inputs(ModuleBuilder& b, const GraphShape& shape,
                                     ValueId cache_position);

/// Position ids and the causal mask from the number of positions already filled.
void positions_and_mask(ModuleBuilder& b, CallContext& call);

/// cos and sin of position times inverse frequency, both halves alike, times `scaling`.
void rotary_embedding(ModuleBuilder& b, CallContext& call, std::vector<float> inverse_frequencies,
                      double scaling);

/// weight * (x * rsqrt(mean(x^2) + eps)). Gives the normalized value and, as the modeling code
/// does, the input as the norm saw it (the residual branch goes on from there).
struct Normalized {
  ValueId input = kNone;
  ValueId output = kNone;
};
Normalized rms_norm(ModuleBuilder& b, const std::string& name, ValueId x);

/// x [1, AR, E] -> [1, AR, E]: projections, rotary embedding, whole-cache update, grouped-query
/// attention (eager), output projection. Records the updated caches as outputs of the graph.
ValueId attention(ModuleBuilder& b, const CallContext& call, size_t layer, ValueId x);

/// down_proj(act_fn(gate_proj(x)) * up_proj(x))
ValueId gated_mlp(ModuleBuilder& b, ValueId x);

}  // namespace lathe::hf
