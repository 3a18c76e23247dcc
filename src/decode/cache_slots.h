#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "decode/aligned_buffer.h"
#include "decode/graph_io.h"

namespace lathe {

/// Bytes of one element.
inline int64_t bytes_of(const CacheFormat& cache) { return bits_of(cache.format.dtype) / 8; }

/// Memory for `tokens` tokens, not set. Throws Error, naming `what`, where it is not to be had.
AlignedBuffer allocate_slots(const CacheFormat& cache, int64_t tokens, const char* what);

/// Calls job with a value of the C++ type of `format` that stands for real 0.
template <typename Job>
void with_zero(const ValueFormat& format, const Job& job) {
  switch (format.dtype) {
    case DType::u8:
      return job(static_cast<uint8_t>(format.zero_point));
    case DType::u16:
      return job(static_cast<uint16_t>(format.zero_point));
    default:
      return job(0.0f);
  }
}

/// Fills columns [begin, end) of a [rows, columns] matrix with real 0.
inline void clear_columns(const ValueFormat& format, std::byte* data, int64_t rows, int64_t columns,
                          int64_t begin, int64_t end) {
  with_zero(format, [&](auto zero) {
    auto* row = reinterpret_cast<decltype(zero)*>(data);
    for (int64_t r = 0; r < rows; ++r, row += columns) std::fill(row + begin, row + end, zero);
  });
}

/// Fills `tokens` slots from the start of `data` with real 0.
inline void clear_slots(const CacheFormat& cache, std::byte* data, int64_t tokens) {
  const int64_t count = cache.heads * cache.head_dim * tokens;
  clear_columns(cache.format, data, 1, count, 0, count);
}

}  // namespace lathe
