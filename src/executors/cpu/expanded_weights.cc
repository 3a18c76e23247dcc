#include "executors/cpu/expanded_weights.h"

#include <map>
#include <mutex>
#include <tuple>

#include "executors/reference/buffer_pool.h"
#include "graph/packed_int4.h"
#include "graph/packed_weights.h"
#include "graph/stored_bytes.h"

namespace lathe {
namespace {

/// Keeps its source too, so that no other constant can come to lie at the same address.
struct Expanded {
  std::shared_ptr<const std::byte> source;
  std::shared_ptr<std::byte> bytes;
};

/// Where the source lies, and as which matrix it is read.
using Key = std::tuple<const std::byte*, int64_t, int64_t, int64_t>;

}  // namespace

std::shared_ptr<const std::byte> expanded_weights(const Value& weight) {
  static std::mutex mutex;
  static std::map<Key, std::weak_ptr<const Expanded>> known;

  const Int4Matrix matrix = int4_matrix(weight);
  const std::shared_ptr<const std::byte>& source = weight.constant->bytes;
  const std::lock_guard lock(mutex);
  std::erase_if(known, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<const Expanded>& entry =
      known[{source.get(), matrix.channels, matrix.k, matrix.block}];
  std::shared_ptr<const Expanded> expanded = entry.lock();
  if (expanded == nullptr) {
    const size_t bytes = packed_constant_bytes(matrix.channels, matrix.k);
    const std::shared_ptr<std::byte> memory = BufferPool().take(static_cast<int64_t>(bytes));
    expand_int4(source.get(), matrix, reinterpret_cast<int8_t*>(memory.get()));
    expanded = std::make_shared<const Expanded>(Expanded{source, memory});
    entry = expanded;
  }
  return {expanded, expanded->bytes.get()};
}

}  // namespace lathe
