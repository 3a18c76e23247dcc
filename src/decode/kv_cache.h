#pragma once

#include <cstdint>
#include <vector>

#include "decode/aligned_buffer.h"
#include "decode/graph_io.h"
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

/// The keys and values of all tokens so far, one slot a token, in one buffer per layer and kind
/// that is allocated once. Graphs of any AR read it through windows into the same memory, so
/// changing from prefill to decode moves nothing. Slots without a token hold the real value 0.
class KvCache {
 public:
  /// Throws Error where the memory is not to be had.
  explicit KvCache(const GraphIo& io);

  int64_t context() const { return context_; }
  /// Tokens held; they are in slots [0, length).
  int64_t length() const { return length_; }

  /// Slots [0, slots) of a layer, as the cache input of a graph with CL - AR = slots.
  TensorView key_window(size_t layer, int64_t slots) const;    // [1, heads, head_dim, slots]
  TensorView value_window(size_t layer, int64_t slots) const;  // [1, heads, slots, head_dim]

  /// Copies the first `count` tokens of `pairs` into the slots after those held.
  /// length() + count <= context().
  void append(const NewPairs& pairs, int64_t count) noexcept;
  /// Forgets all but the first `length` tokens. length <= length().
  void truncate(int64_t length) noexcept;

 private:
  struct Layer {
    LayerFormat format;
    AlignedBuffer keys;    // [heads, head_dim, context]
    AlignedBuffer values;  // [heads, context, head_dim]
  };

  int64_t context_;
  int64_t length_ = 0;
  std::vector<Layer> layers_;
};

}  // namespace lathe
