#pragma once

#include <algorithm>
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
/// buffer per layer and kind. Slots without a token hold the real value 0.
///
/// A sliding layer has a ring of W slots: the token at position p lies in slot p mod W, over the
/// one that has left the window. Keys were rotated by their positions before, so the order of slots
/// means nothing to a graph; WindowMask says which of them its tokens attend.
///
/// Graphs of any AR read it through windows, and changing from prefill to decode moves nothing. A
/// session that wants its inputs dense has the slots lie as close as its graph's shape says: then a
/// change of graph moves them once, and steps of the same graph nothing.
class PairCache final : public KvCache {
 public:
  explicit PairCache(const GraphIo& io);

  /// How many slots a graph finds between the rows (of keys) and the heads (of values) when it
  /// runs: the context, or CL - AR for a session that wants dense inputs.
  static int64_t stride_for(const Session& session, const GraphIo& io);

  /// Slots [0, slots) of a layer, as the cache input of a graph that has so many, once
  /// arrange(stride) was called.
  TensorView key_window(size_t layer, int64_t slots,
                        int64_t stride) const;  // [1, heads, head_dim, slots]
  TensorView value_window(size_t layer, int64_t slots,
                          int64_t stride) const;  // [1, heads, slots, head_dim]

  /// Moves the slots so that there are `stride` of them between rows, in a ring at most W.
  /// length() <= stride <= context(). Does nothing where they lie so.
  void arrange(int64_t stride) noexcept;

  /// Copies the first `count` tokens of `pairs` into the slots after those held.
  /// length() + count <= context().
  void append(const NewPairs& pairs, int64_t count) noexcept;
  bool can_truncate(int64_t length) const noexcept override;
  void truncate(int64_t length) noexcept override;
  std::unique_ptr<BoundGraph> bind(std::unique_ptr<Session> session, const GraphIo& io) override;

 private:
  struct Layer {
    LayerFormat format;
    int64_t capacity;      ///< slots: the context, or W in a ring
    AlignedBuffer keys;    // [heads, head_dim, stride], memory for stride = capacity
    AlignedBuffer values;  // [heads, stride, head_dim]

    /// Slots between rows where those of the cache are `stride` apart.
    int64_t stride(int64_t stride) const { return std::min(stride, capacity); }
  };

  /// Copies `count` tokens of `fresh`, from token `first`, to the slots from `slot` on.
  void copy(const Layer& layer, const NewPairs::Layer& fresh, int64_t first, int64_t count,
            int64_t slot) const noexcept;
  /// Slots [begin, end) of a layer become real 0.
  void clear(const Layer& layer, int64_t begin, int64_t end) const noexcept;

  std::vector<Layer> layers_;
  int64_t stride_;
  int64_t longest_ = 0;  // what length() has been since it was 0
};

}  // namespace lathe
