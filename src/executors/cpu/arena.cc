#include <algorithm>
#include <vector>

#include "executors/cpu/plan.h"

namespace lathe {
namespace {

constexpr size_t kAlignment = 64;

/// Whether a buffer needs memory in the arena: some step uses it.
bool in_arena(const Buffer& buffer) {
  return (buffer.kind == Buffer::Kind::arena || buffer.kind == Buffer::Kind::scratch) &&
         buffer.first_step >= 0;
}

bool overlap_in_time(const Buffer& a, const Buffer& b) {
  return a.first_step <= b.last_step && b.first_step <= a.last_step;
}

}  // namespace

size_t plan_arena(std::vector<Buffer>& buffers) {
  std::vector<Buffer*> order;
  for (Buffer& buffer : buffers) {
    if (in_arena(buffer)) order.push_back(&buffer);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const Buffer* a, const Buffer* b) { return a->bytes > b->bytes; });
  size_t total = 0;
  std::vector<Buffer*> placed;  // by ascending offset
  for (Buffer* buffer : order) {
    size_t offset = 0;
    for (const Buffer* other : placed) {
      if (!overlap_in_time(*buffer, *other)) continue;
      if (offset + buffer->bytes <= other->offset) break;
      const size_t end = other->offset + other->bytes;
      offset = std::max(offset, (end + kAlignment - 1) / kAlignment * kAlignment);
    }
    buffer->offset = offset;
    total = std::max(total, offset + buffer->bytes);
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), buffer,
                         [](const Buffer* a, const Buffer* b) { return a->offset < b->offset; }),
        buffer);
  }
  return (total + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace lathe
