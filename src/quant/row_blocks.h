#pragma once

#include <cstdint>
#include <exception>
#include <mutex>

#include "support/thread_pool.h"

namespace lathe {

/// Calls body(begin, end) on blocks of at most `block` rows that cover [0, rows), on all threads;
/// every block starts on a multiple of `block`. Where bodies throw, the exception of the lowest row
/// is thrown here, whatever the number of threads.
template <typename Body>
void for_row_blocks(ThreadPool& pool, int64_t rows, int64_t block, const Body& body) {
  std::mutex mutex;
  std::exception_ptr failure;
  int64_t failed_row = rows;
  pool.split(rows, block, [&](int64_t begin, int64_t end) {
    int64_t row = begin;
    try {
      for (; row < end; row += block) body(row, row + block < end ? row + block : end);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (row < failed_row) {
        failed_row = row;
        failure = std::current_exception();
      }
    }
  });
  if (failure) std::rethrow_exception(failure);
}

}  // namespace lathe
