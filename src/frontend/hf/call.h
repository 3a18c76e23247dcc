#pragma once

#include <vector>

#include "frontend/frontend.h"
#include "frontend/module_builder.h"

// What the layers of one call share, operator by operator as torch.export records it. Shapes: AR
// tokens per call, CL context, Hkv key-value heads, D head dimension, R values of a head that
// rotate.
namespace lathe::hf {

/// The static cache of one layer and how many positions it holds so far.
struct LayerCache {
  ValueId keys = kNone;    ///< input f32 [1, Hkv, CL, D]
  ValueId values = kNone;  ///< input f32 [1, Hkv, CL, D]
  ValueId filled = kNone;  ///< i64 []
};

/// What turns queries and keys.
struct Rotation {
  ValueId cos = kNone;  ///< f32 [1, AR, R]
  ValueId sin = kNone;  ///< f32 [1, AR, R]
};

/// What every layer of one call reads.
struct CallContext {
  GraphShape shape;
  ValueId position_ids = kNone;  ///< i64 [1, AR]
  /// f32 [1, 1, AR, CL]: 0 attends, the lowest float is masked. kNone where no layer reads it.
  ValueId mask = kNone;
  ValueId window_mask = kNone;  ///< the same for sliding layers
  Rotation rotation;
  Rotation local_rotation;  ///< of sliding layers
  std::vector<LayerCache> caches;
};

/// The caches as graph inputs, with the count of each set to the first of `cache_position`.
std::vector<LayerCache> cache_inputs(ModuleBuilder& b, const GraphShape& shape,
                                     ValueId cache_position);

/// Position ids, and the masks that layers need, from the number of positions already filled.
void positions_and_masks(ModuleBuilder& b, CallContext& call);

/// cos and sin of position times inverse frequency, both halves alike, times the attention factor
/// of the config, for all kinds of layers. `casts`: the code gives them the type of the hidden
/// states.
void rotary_embedding(ModuleBuilder& b, CallContext& call, bool casts);

}  // namespace lathe::hf
