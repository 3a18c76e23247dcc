#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "executors/reference/evaluator.h"
#include "frontend/frontend.h"
#include "graph/graph.h"
#include "passes/pipelines.h"
#include "quant/calibrate.h"

namespace lathe {

/// A rewrite that keeps what a graph computes, such as transforms folded into the weights. Empty:
/// none.
using GraphTransform = std::function<void(Graph&)>;

/// Which float graph of a checkpoint is meant.
struct FloatForm {
  Variant variant = Variant::hf;
  Target target = Target::cpu;
  PassControl control = {};
  GraphTransform transform = {};
};

/// The float graph of a checkpoint in a form, all passes of Pipeline::build and the transform
/// behind it.
Graph float_graph(const std::shared_ptr<const Checkpoint>& checkpoint, const GraphShape& shape,
                  const FloatForm& form = {});

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
             FloatExecutor executor = FloatExecutor::fast, FloatForm form = {});

  const Checkpoint& checkpoint() const { return *checkpoint_; }
  int64_t vocab() const { return checkpoint_->config().vocab_size; }
  int64_t context() const { return checkpoint_->config().max_position_embeddings; }

  /// Runs `ids` from position 0. `logits` gets row after row of [vocab], `observer` sees every
  /// value under its id in graph(); either may be empty. Throws Error for no ids, ids outside the
  /// vocabulary, or more than context().
  void run(std::span<const int64_t> ids,
           const std::function<void(int64_t position, std::span<const float> row)>& logits,
           const Evaluator::Observer& observer = {});
  /// Runs several texts side by side, as if each were alone, for `observer`. A graph that computes
  /// its mask itself takes them for one text.
  void run(const CalibrationBatch& batch, const Evaluator::Observer& observer);

  /// The graph of the last run, as float_graph() gives it.
  const Graph& graph() const { return graph_.value(); }

 private:
  void prepare(int64_t tokens);
  void run(std::span<const int64_t> ids, std::span<const int64_t> starts, Evaluator::RowSink sink,
           const Evaluator::Observer& observer);
  void bind_inputs(std::span<const int64_t> ids, std::span<const int64_t> starts);
  Evaluator::Observer with_ids_of_graph(const Evaluator::Observer& observer) const;

  /// What the inputs of the graph are bound to.
  struct Inputs {
    std::vector<int32_t> tokens;
    std::vector<int64_t> ids;
    std::vector<int32_t> positions;
    std::vector<int64_t> positions64;
    std::vector<float> mask;         // [tokens, tokens]
    std::vector<float> window_mask;  // [tokens, tokens], where the graph has a window
    std::vector<std::byte> zeros;    // caches that are given whole
  };

  std::shared_ptr<const Checkpoint> checkpoint_;
  FloatForm form_;
  std::shared_ptr<NodeKernels> kernels_;  // null: the reference
  std::optional<Graph> graph_;
  std::vector<ValueId> same_as_;  // by value of what is run: its id in graph(), or kNone
  std::unique_ptr<Evaluator> evaluator_;
  Inputs inputs_;
};

}  // namespace lathe
