#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "decode/aligned_buffer.h"
#include "decode/kv_cache.h"
#include "support/tensor.h"

namespace lathe {

/// Where one graph writes the keys and values of the tokens of a call: dense, one pair of views a
/// layer.
class NewPairs {
 public:
  explicit NewPairs(const GraphIo& io);

  struct Layer {
    TensorView key;    // [1, heads, head_dim, AR]
    TensorView value;  // [1, heads, AR, head_dim]
  };
  const std::vector<Layer>& layers() const { return layers_; }
  int64_t tokens_per_call() const { return tokens_per_call_; }

 private:
  int64_t tokens_per_call_;
  std::vector<AlignedBuffer> buffers_;
  std::vector<Layer> layers_;
};

/// The cache of graphs that return the new pairs of a call, which are copied behind those held. One
/// buffer per layer and kind; graphs read it through windows. Slots without a token hold the real
/// value 0.
class PairCache final : public KvCache {
 public:
  explicit PairCache(const GraphIo& io);

  /// Slots [0, slots) of a layer, as the cache input of a graph with CL - AR = slots.
  TensorView key_window(size_t layer, int64_t slots) const;    // [1, heads, head_dim, slots]
  TensorView value_window(size_t layer, int64_t slots) const;  // [1, heads, slots, head_dim]

  /// Copies the first `count` tokens of `pairs` into the slots after those held.
  /// length() + count <= context().
  void append(const NewPairs& pairs, int64_t count) noexcept;
  void truncate(int64_t length) noexcept override;
  std::unique_ptr<BoundGraph> bind(std::unique_ptr<Session> session, const GraphIo& io) override;

 private:
  struct Layer {
    LayerFormat format;
    AlignedBuffer keys;    // [heads, head_dim, context]
    AlignedBuffer values;  // [heads, context, head_dim]
  };

  std::vector<Layer> layers_;
};

}  // namespace lathe
