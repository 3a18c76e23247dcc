#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/encoding.h"
#include "support/tensor.h"

namespace lathe {

/// What one graph is for. All are built by the same code.
enum class GraphRole : uint8_t {
  decode,    ///< AR = 1 (or the lookahead width)
  prefill,   ///< AR: tokens of a chunk
  calibrate  ///< AR = CL, empty caches
};
std::string_view name_of(GraphRole role);
/// The role of that name; none for any other text.
std::optional<GraphRole> role_named(std::string_view name);

struct IoTensor {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  std::optional<Encoding> encoding;  ///< integer graphs: what the codes mean
};

/// The names, shapes and types at a graph's boundary (docs/architecture.md has the table): tokens,
/// attention_mask, window_attention_mask, position, k_cache_i, v_cache_i -> logits, k_new_i,
/// v_new_i. It is all that the runner knows of a graph.
struct IoContract {
  GraphRole role = GraphRole::decode;
  int64_t tokens_per_call = 1;  ///< AR
  int64_t context = 0;          ///< CL
  /// W, less than CL: position i of a sliding layer attends j where i - W < j <= i. 0: there is no
  /// such layer.
  int64_t window = 0;
  std::vector<IoTensor> inputs;
  std::vector<IoTensor> outputs;

  const IoTensor* find_input(std::string_view name) const;
  const IoTensor* find_output(std::string_view name) const;
};

/// Slots of the cache of a layer that slides over `window` positions, S = min(W, CL - AR).
inline int64_t ring_slots(int64_t window, int64_t context, int64_t tokens_per_call) {
  return std::min(window, context - tokens_per_call);
}

/// Whether an input of this name says what tokens attend: attention_mask, and that of sliding
/// layers, window_attention_mask.
bool is_attention_mask(std::string_view name);
/// Whether an input or output of this name holds keys or values: k_cache_i, v_cache_i, k_new_i and
/// v_new_i, and the whole caches of a graph as it was traced, static_cache.layers.i.keys and
/// layers.i.values.
bool holds_cache(std::string_view name);
/// Bytes of those tensors that hold keys or values.
int64_t cache_bytes(std::span<const IoTensor> tensors);

}  // namespace lathe
