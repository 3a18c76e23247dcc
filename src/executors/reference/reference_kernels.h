#pragma once

#include "executors/reference/node_kernels.h"

namespace lathe {

/// The yardstick: float values by the operator table's rules, codes by
/// executors/reference/integer.h.
class ReferenceKernels : public NodeKernels {
 public:
  /// Embedding tables: only the rows that the ids name are read.
  bool reads_source(const Graph& graph, const Node& node, size_t input) const override;
  void evaluate(const Graph& graph, const Node& node, std::span<const TensorView> inputs,
                std::span<const TensorView> outputs) override;
};

}  // namespace lathe
