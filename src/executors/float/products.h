#pragma once

#include <span>
#include <vector>

#include "graph/graph.h"
#include "support/thread_pool.h"

namespace lathe {

/// Float matrix products by oneDNN's single-threaded sgemm, on tiles of the result that our own
/// threads take. How a product is cut into tiles depends on its shape only, and no sum is split
/// between threads, so results do not depend on their number.
class Products {
 public:
  explicit Products(ThreadPool& threads) : threads_(threads) {}

  /// inputs: x [..., K], weight [N, K], bias [N] or none; output [..., N]. A weight whose view has
  /// no data is read from `weight.constant` in blocks of channels.
  void linear(const Value& weight, std::span<const TensorView> inputs, const TensorView& output);

  /// a [..., M, K] times b [..., K, N] -> output [..., M, N].
  void matmul(const TensorView& a, const TensorView& b, const TensorView& output);

 private:
  ThreadPool& threads_;
  std::vector<float> block_;  // [channels of a block, K]
};

}  // namespace lathe
