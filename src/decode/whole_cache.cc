#include "decode/whole_cache.h"

#include <utility>

#include "decode/cache_slots.h"
#include "decode/whole_graph.h"

namespace lathe {

WholeCache::WholeCache(const GraphIo& io) : KvCache(io.context) {
  for (std::vector<Layer>& side : sides_) {
    for (const auto& [key, value] : io.layers) {
      TensorView keys = new_tensor(key);
      side.push_back({std::move(keys), new_tensor(value)});
    }
  }
}

TensorView WholeCache::new_tensor(const CacheFormat& format) {
  const AlignedBuffer& buffer =
      buffers_.emplace_back(allocate_slots(format, context(), "the key-value cache"));
  clear_slots(format, buffer.data(), context());
  return dense_view(format.format.dtype, {1, format.heads, context(), format.head_dim},
                    buffer.data());
}

void WholeCache::turn(int64_t count) noexcept {
  side_ = 1 - side_;
  set_length(length() + count);
}

std::unique_ptr<BoundGraph> WholeCache::bind(std::unique_ptr<Session> session, const GraphIo& io) {
  return std::make_unique<WholeGraph>(std::move(session), io, *this);
}

}  // namespace lathe
