#pragma once

#include <cstddef>
#include <span>

#include "graph/graph.h"

namespace lathe {

/// How an Evaluator computes the nodes that make new numbers or move old ones to new places (nodes
/// that only rename their input are the evaluator's own business). Used by one thread at a time.
class NodeKernels {
 public:
  virtual ~NodeKernels() = default;

  /// Whether the float constant at `input` is read from its source by evaluate() itself, piece by
  /// piece. Its view then comes without data, unless the evaluator has the constant at hand anyway.
  virtual bool reads_source(const Graph& graph, const Node& node, size_t input) const = 0;

  /// Computes the outputs. All views are dense; a product may be asked for a part of the rows of
  /// its first input, which then is a matrix, as is the output.
  virtual void evaluate(const Graph& graph, const Node& node, std::span<const TensorView> inputs,
                        std::span<const TensorView> outputs) = 0;
};

}  // namespace lathe
