#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace lathe::bench {

/// A piece of memory that stands behind as many addresses as one likes, again and again. Who reads
/// them in order does what he would do elsewhere, but waits for the second-level cache and not for
/// memory. Throws std::system_error.
class RepeatedMemory {
 public:
  /// More than first-level caches hold, less than second-level ones.
  static constexpr size_t kBytes = 128 * 1024;

  /// Holds the beginning of `content`, and zeros behind it.
  explicit RepeatedMemory(std::span<const std::byte> content);
  ~RepeatedMemory();
  RepeatedMemory(const RepeatedMemory&) = delete;
  RepeatedMemory& operator=(const RepeatedMemory&) = delete;

  /// `bytes` addresses, from the beginning of the content on. They outlive this object.
  std::shared_ptr<const std::byte> view(size_t bytes) const;

 private:
  int file_;
};

}  // namespace lathe::bench
