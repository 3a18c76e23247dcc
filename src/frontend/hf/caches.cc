#include <fmt/format.h>

#include "frontend/hf/call.h"

namespace lathe::hf {

std::vector<LayerCache> cache_inputs(ModuleBuilder& b, const GraphShape& shape,
                                     ValueId cache_position) {
  const ModelConfig& config = b.config();
  const Shape cache_shape{1, config.kv_heads, shape.context, config.head_dim};
  std::vector<LayerCache> caches;
  for (int64_t i = 0; i < config.layers; ++i) {
    const std::string name = fmt::format("static_cache.layers.{}", i);
    LayerCache cache;
    cache.keys = b.graph().add_input(name + ".keys", DType::f32, cache_shape);
    cache.values = b.graph().add_input(name + ".values", DType::f32, cache_shape);
    const ValueId length = b.graph().add_input(name + ".cumulative_length", DType::i64, Shape{});
    const ValueId first =
        b.apply(Op::select, {cache_position}, {{"dim", int64_t{0}}, {"index", int64_t{0}}});
    cache.filled = b.apply(Op::copy_, {length, first});
    caches.push_back(cache);
  }
  return caches;
}

}  // namespace lathe::hf
