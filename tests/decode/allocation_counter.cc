#include "decode/allocation_counter.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {
std::atomic<int64_t> count{0};

void* counted_alloc(size_t size, size_t alignment) {
  ++count;
  const size_t rounded = (size + alignment - 1) / alignment * alignment;
  return std::aligned_alloc(alignment, rounded);
}

void* checked(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

constexpr size_t kUsual = alignof(std::max_align_t);
}  // namespace

// The forms for arrays end in these. Those that do not throw are here as well because the address
// sanitizer has its own, whose memory must not be given to free().
void* operator new(size_t size) { return checked(counted_alloc(size, kUsual)); }
void* operator new(size_t size, std::align_val_t alignment) {
  return checked(counted_alloc(size, static_cast<size_t>(alignment)));
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return counted_alloc(size, kUsual);
}
void* operator new(size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return counted_alloc(size, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

int64_t lathe::test::allocations() { return count; }
