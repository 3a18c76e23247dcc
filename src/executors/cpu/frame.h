#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "executors/cpu/kernels/kernels.h"
#include "support/tensor.h"
#include "support/thread_pool.h"

namespace lathe {

using BufferId = int32_t;

struct RowRange {
  int64_t begin = 0;
  int64_t end = 0;
};

/// What a step finds when it runs: where every buffer is, the kernels and the team.
struct Frame {
  const Kernels* kernels = nullptr;
  ThreadPool* pool = nullptr;
  std::vector<std::byte*> base;  ///< by BufferId
  std::vector<TensorView>
      inputs;                   ///< by BufferId; bound views (with their strides) of graph inputs
  int64_t tokens_per_call = 0;  ///< AR
  int64_t first_token = 0;      ///< of those that count, see Session::want()
  int64_t last_token = 0;       ///< one behind them

  /// Rows [begin, end) that count of a step that has `rows` of them: where there is a row a token,
  /// those of the tokens.
  RowRange counted(int64_t rows) const {
    return rows == tokens_per_call ? RowRange{first_token, last_token} : RowRange{0, rows};
  }

  template <typename T>
  T* at(BufferId buffer, int64_t offset = 0) const {
    return reinterpret_cast<T*>(base[static_cast<size_t>(buffer)]) + offset;
  }
};

/// One piece of a planned program.
class Step {
 public:
  virtual ~Step() = default;
  virtual void run(const Frame& frame) const noexcept = 0;
  virtual const char* name() const = 0;
};

/// Whether so many elements are worth waking the team.
inline bool worth_splitting(int64_t elements) { return elements >= 16 * 1024; }

/// Splits `count` units over the team where that is worth it: job(begin, end).
template <typename Job>
void split_if_large(const Frame& frame, int64_t count, int64_t elements_per_unit, const Job& job) {
  if (worth_splitting(count * elements_per_unit)) {
    frame.pool->split(count, 1, job);
  } else {
    job(int64_t{0}, count);
  }
}

/// The same for jobs with scratch memory of each member: job(member, begin, end), also for a member
/// that gets no units.
template <typename Job>
void split_by_member(const Frame& frame, int64_t count, int64_t elements_per_unit, const Job& job) {
  if (!worth_splitting(count * elements_per_unit)) {
    job(0, int64_t{0}, count);
    return;
  }
  const int64_t team = frame.pool->size();
  frame.pool->run(
      [&](int member) { job(member, count * member / team, count * (member + 1) / team); });
}

}  // namespace lathe
