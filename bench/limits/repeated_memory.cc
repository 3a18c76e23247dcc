#include "limits/repeated_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace lathe::bench {
namespace {

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

RepeatedMemory::RepeatedMemory(std::span<const std::byte> content)
    : file_(memfd_create("repeated", MFD_CLOEXEC)) {
  if (file_ < 0) fail("memfd_create");
  const size_t copied = std::min(content.size(), kBytes);
  if (ftruncate(file_, kBytes) != 0 ||
      pwrite(file_, content.data(), copied, 0) != static_cast<ssize_t>(copied)) {
    close(file_);
    fail("writing memory");
  }
}

RepeatedMemory::~RepeatedMemory() { close(file_); }

std::shared_ptr<const std::byte> RepeatedMemory::view(size_t bytes) const {
  const size_t all = (bytes + kBytes - 1) / kBytes * kBytes;
  void* const first = mmap(nullptr, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (first == MAP_FAILED) fail("mmap");
  auto* const begin = static_cast<std::byte*>(first);
  std::shared_ptr<const std::byte> memory(
      begin, [all](const std::byte* address) { munmap(const_cast<std::byte*>(address), all); });
  for (size_t at = 0; at < all; at += kBytes) {
    constexpr int kFlags = MAP_SHARED | MAP_FIXED | MAP_POPULATE;
    if (mmap(begin + at, kBytes, PROT_READ, kFlags, file_, 0) == MAP_FAILED) fail("mmap");
  }
  return memory;
}

}  // namespace lathe::bench
