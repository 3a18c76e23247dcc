#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace lathe {

/// Memory for the values of a run. A buffer comes back when its last owner lets go and serves the
/// next value of a like size: fresh pages from the system would cost more than most operators.
/// Used by one thread.
class BufferPool {
 public:
  BufferPool();

  /// At least `bytes` bytes on a multiple of 64; what they hold is undefined. May outlive the pool.
  std::shared_ptr<std::byte> take(int64_t bytes);

  /// Bytes that have owners now, and the most that had at one time since restart_peak().
  int64_t live_bytes() const;
  int64_t peak_bytes() const;
  void restart_peak();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace lathe
