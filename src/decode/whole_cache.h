#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "decode/aligned_buffer.h"
#include "decode/kv_cache.h"
#include "support/tensor.h"

namespace lathe {

/// The cache of graphs that take it whole and return it whole, with the tokens of the call written
/// into their slots. Each tensor has two buffers that change places after every call: what a graph
/// returned is what the next one is given.
///
/// Slots behind the tokens held may hold anything that a call left there, padding or tokens that
/// were forgotten. The graph masks them by their position, and later tokens are written over them;
/// they begin as real 0, as not even a masked slot may hold a float that is no number.
class WholeCache final : public KvCache {
 public:
  explicit WholeCache(const GraphIo& io);

  struct Layer {
    TensorView keys;    // [1, heads, context, head_dim]
    TensorView values;  // [1, heads, context, head_dim]
  };
  /// What the next call is given.
  const std::vector<Layer>& held() const { return sides_[side_]; }
  /// Where the next call writes.
  const std::vector<Layer>& returned() const { return sides_[1 - side_]; }

  /// Makes what a call returned the cache, with `count` more tokens.
  void turn(int64_t count) noexcept;
  bool can_truncate(int64_t) const noexcept override { return true; }
  void truncate(int64_t length) noexcept override { set_length(length); }
  std::unique_ptr<BoundGraph> bind(std::unique_ptr<Session> session, const GraphIo& io) override;

 private:
  TensorView new_tensor(const CacheFormat& format);

  std::vector<AlignedBuffer> buffers_;
  std::array<std::vector<Layer>, 2> sides_;
  size_t side_ = 0;
};

}  // namespace lathe
