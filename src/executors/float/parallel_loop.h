#pragma once

#include <algorithm>
#include <cstdint>

#include "executors/reference/strided_loop.h"
#include "support/thread_pool.h"

namespace lathe {

/// Elements that are worth handing to a thread: a few microseconds of simple arithmetic.
inline constexpr int64_t kElementsPerTask = 8192;

/// How many rows of `width` elements make one task.
inline int64_t rows_per_task(int64_t width) {
  return std::max<int64_t>(1, kElementsPerTask / std::max<int64_t>(1, width));
}

/// Calls body(offsets, count) for runs of elements that cover the loop; inside a run tensor k
/// advances by loop.steps()[k]. Long rows are cut.
template <size_t N, typename Body>
void parallel_runs(ThreadPool& threads, const StridedLoop<N>& loop, const Body& body) {
  const int64_t width = loop.width();
  if (width <= 2 * kElementsPerTask) {
    threads.split(loop.rows(), rows_per_task(width), [&](int64_t begin, int64_t end) {
      loop.visit_rows(begin, end, [&](const auto& offsets) { body(offsets, width); });
    });
    return;
  }
  const int64_t pieces = (width + kElementsPerTask - 1) / kElementsPerTask;
  threads.split(loop.rows() * pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t first = piece % pieces * kElementsPerTask;
      loop.visit_rows(piece / pieces, piece / pieces + 1, [&](auto offsets) {
        for (size_t k = 0; k < N; ++k) offsets[k] += first * loop.steps()[k];
        body(offsets, std::min(kElementsPerTask, width - first));
      });
    }
  });
}

}  // namespace lathe
