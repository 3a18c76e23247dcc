#include "decode/cache_slots.h"

#include <limits>

namespace lathe {

AlignedBuffer allocate_slots(const CacheFormat& cache, int64_t tokens, const char* what) {
  const int64_t bytes = checked_elements({cache.heads, cache.head_dim, tokens, bytes_of(cache)});
  return {bytes < 0 ? std::numeric_limits<int64_t>::max() : bytes, what};
}

}  // namespace lathe
