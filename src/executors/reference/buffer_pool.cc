#include "executors/reference/buffer_pool.h"

#include <algorithm>
#include <new>
#include <vector>

namespace lathe {
namespace {

constexpr int64_t kAlignment = 64;
// More than this is never kept idle: it is about what two values of the largest layer need.
constexpr int64_t kIdleLimit = int64_t{128} << 20;

struct Free {
  void operator()(std::byte* data) const {
    ::operator delete(data, std::align_val_t{static_cast<size_t>(kAlignment)});
  }
};

struct Block {
  std::unique_ptr<std::byte, Free> data;
  int64_t capacity = 0;
};

}  // namespace

struct BufferPool::State {
  std::vector<Block> idle;  // the longest idle first
  int64_t idle_bytes = 0;
  int64_t live_bytes = 0;
  int64_t peak_bytes = 0;

  Block take_idle(int64_t bytes) {
    auto best = idle.end();
    for (auto block = idle.begin(); block != idle.end(); ++block) {
      const bool fits = block->capacity >= bytes && block->capacity - bytes <= bytes / 4;
      if (fits && (best == idle.end() || block->capacity < best->capacity)) best = block;
    }
    if (best == idle.end()) return {};
    Block block = std::move(*best);
    idle.erase(best);
    idle_bytes -= block.capacity;
    return block;
  }

  void give_back(Block block) {
    live_bytes -= block.capacity;
    idle_bytes += block.capacity;
    idle.push_back(std::move(block));
    while (idle_bytes > kIdleLimit) {
      idle_bytes -= idle.front().capacity;
      idle.erase(idle.begin());
    }
  }
};

BufferPool::BufferPool() : state_(std::make_shared<State>()) {}

std::shared_ptr<std::byte> BufferPool::take(int64_t bytes) {
  const int64_t size = std::max(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  Block block = state_->take_idle(size);
  if (block.data == nullptr) {
    block.data.reset(static_cast<std::byte*>(::operator new(
        static_cast<size_t>(size), std::align_val_t{static_cast<size_t>(kAlignment)})));
    block.capacity = size;
  }
  state_->live_bytes += block.capacity;
  state_->peak_bytes = std::max(state_->peak_bytes, state_->live_bytes);
  std::byte* data = block.data.get();
  return {data, [state = state_, held = std::make_shared<Block>(std::move(block))](std::byte*) {
            state->give_back(std::move(*held));
          }};
}

int64_t BufferPool::live_bytes() const { return state_->live_bytes; }
int64_t BufferPool::peak_bytes() const { return state_->peak_bytes; }
void BufferPool::restart_peak() { state_->peak_bytes = state_->live_bytes; }

}  // namespace lathe
