#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "checkpoint/checkpoint.h"
#include "executors/reference/evaluator.h"
#include "frontend/frontend.h"
#include "graph/graph.h"
#include "quant/calibrate.h"

namespace lathe {

/// A rewrite that keeps what a graph computes, such as transforms folded into the weights. Empty:
/// none.
using GraphTransform = std::function<void(Graph&)>;

/// The float graph of a checkpoint after the passes of the `hf` pipeline and `transform`.
Graph float_graph(const std::shared_ptr<const Checkpoint>& checkpoint, const GraphShape& shape,
                  const GraphTransform& transform = {});

/// How a float graph is computed.
enum class FloatExecutor : uint8_t {
  fast,      ///< several threads, products by oneDNN
  reference  ///< scalar and obvious
};

/// A checkpoint as it is, in float32: whole sequences in one forward pass, no cache. Gives logits,
/// and lets calibration and reports see every value on the way.
class FloatModel {
 public:
  FloatModel(std::shared_ptr<const Checkpoint> checkpoint, int threads,
             FloatExecutor executor = FloatExecutor::fast, GraphTransform transform = {});

  const Checkpoint& checkpoint() const { return *checkpoint_; }
  int64_t vocab() const { return checkpoint_->config().vocab_size; }
  int64_t context() const { return checkpoint_->config().max_position_embeddings; }

  /// Runs `ids` from position 0. `logits` gets row after row of [vocab], `observer` sees every
  /// value; either may be empty. Throws Error for no ids, ids outside the vocabulary, or more than
  /// context().
  void run(std::span<const int64_t> ids,
           const std::function<void(int64_t position, std::span<const float> row)>& logits,
           const Evaluator::Observer& observer = {});
  /// Runs several texts side by side, as if each were alone, for `observer`.
  void run(const CalibrationBatch& batch, const Evaluator::Observer& observer);

  /// The graph of the last run.
  const Graph& graph() const { return *graph_; }

 private:
  void prepare(int64_t tokens);
  void run(std::span<const int64_t> ids, std::span<const int64_t> starts, Evaluator::RowSink sink,
           const Evaluator::Observer& observer);

  std::shared_ptr<const Checkpoint> checkpoint_;
  GraphTransform transform_;
  std::shared_ptr<NodeKernels> kernels_;  // null: the reference
  std::shared_ptr<const Graph> graph_;
  std::unique_ptr<Evaluator> evaluator_;
};

}  // namespace lathe
