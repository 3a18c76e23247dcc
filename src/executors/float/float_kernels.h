#pragma once

#include "executors/float/products.h"
#include "executors/reference/reference_kernels.h"
#include "support/thread_pool.h"

namespace lathe {

/// The fast path of float graphs: products by oneDNN, the operators of a transformer's inner loop
/// with several threads; the rest, and whatever touches codes, as the reference has it. Work is cut
/// into the same pieces for every number of threads, so that number does not change a result.
class FloatKernels final : public ReferenceKernels {
 public:
  explicit FloatKernels(int threads) : threads_(threads), products_(threads_) {}

  /// Weights of linear as well: a block of channels at a time is in memory.
  bool reads_source(const Graph& graph, const Node& node, size_t input) const override;
  void evaluate(const Graph& graph, const Node& node, std::span<const TensorView> inputs,
                std::span<const TensorView> outputs) override;

  /// The team, for observers: it is idle while they are called.
  ThreadPool& threads() { return threads_; }

 private:
  bool evaluate_fast(const Graph& graph, const Node& node, std::span<const TensorView> inputs,
                     const TensorView& output);

  ThreadPool threads_;
  Products products_;
};

}  // namespace lathe
