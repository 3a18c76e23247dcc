#include "decode/kv_cache.h"

#include "decode/pair_cache.h"
#include "decode/whole_cache.h"

namespace lathe {

std::unique_ptr<KvCache> KvCache::make(const GraphIo& io) {
  if (io.cache_style == CacheStyle::whole) return std::make_unique<WholeCache>(io);
  return std::make_unique<PairCache>(io);
}

}  // namespace lathe
