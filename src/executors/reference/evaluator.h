#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "executors/reference/buffer_pool.h"
#include "executors/reference/constant_store.h"
#include "executors/reference/node_kernels.h"
#include "graph/graph.h"

namespace lathe {

struct EvaluatorLimits {
  /// Bytes of float constants kept from their first use on; the rest is read at every use.
  int64_t kept_constants = int64_t{8} << 20;
  /// Bytes of one chunk of a result that goes by in chunks of rows.
  int64_t chunk = int64_t{64} << 20;
};

/// Runs a graph node by node, in order. A value lives from its node to its last reader, a constant
/// while a node reads it, so a run needs little more memory than its largest neighbours.
///
/// A result that nobody keeps (not bound, no reader) and that a linear makes is computed in chunks
/// of rows: the logits of 1,024 tokens are never whole in memory unless somebody asks for them.
class Evaluator {
 public:
  /// Sees values as they are computed. Data is dense and valid during the call only. Movement
  /// without a copy (view, alias) shows the same data again. A chunked result comes in several
  /// calls, each with a view [rows, last dimension].
  using Observer = std::function<void(ValueId, const TensorView&)>;
  /// Takes an output in chunks [rows, last dimension]; `first_row` counts over all but the last
  /// dimension.
  using RowSink = std::function<void(int64_t first_row, const TensorView& rows)>;

  /// Throws Error for a graph that cannot be evaluated. Without `kernels` the reference computes.
  explicit Evaluator(std::shared_ptr<const Graph> graph,
                     std::shared_ptr<NodeKernels> kernels = nullptr, EvaluatorLimits limits = {});

  const Graph& graph() const { return *graph_; }

  /// Binds memory, which must stay valid until bound anew. The view has the type and shape of the
  /// graph's input or output; its last dimension is contiguous, other strides are free. Memory of
  /// outputs may be that of inputs: such outputs are written after the last node. Throws Error for
  /// an unknown name or a view that does not fit.
  void bind_input(std::string_view name, const TensorView& view);
  /// A view without data unbinds: what only this output needs is then not computed.
  void bind_output(std::string_view name, const TensorView& view);
  /// In place of binding. An empty sink unbinds.
  void stream_output(std::string_view name, RowSink sink);
  /// From now on every node is evaluated, bound outputs or not, and every input and every node's
  /// output is shown. An empty function ends it.
  void observe(Observer observer);

  /// Throws Error where an input with elements is not bound.
  void run();

  /// The most bytes of values and constants that were in memory at one time during the last run.
  int64_t peak_bytes() const { return pool_.peak_bytes(); }

 private:
  struct Output {
    ValueId value = kNone;
    TensorView view;  // without data: not bound
    RowSink sink;
  };

  void plan();
  bool is_chunked(const Node& node) const;
  void choose_direct_outputs();
  void start_inputs();
  HeldTensor new_tensor(const Value& value);
  HeldTensor held(ValueId id);
  std::vector<HeldTensor> operands_of(const Node& node);
  void evaluate(const Node& node);
  void evaluate_in_chunks(const Node& node);
  void place(ValueId id, HeldTensor tensor);
  void release(ValueId id);
  void deliver();
  Output& output_named(std::string_view name);

  std::shared_ptr<const Graph> graph_;
  std::shared_ptr<NodeKernels> kernels_;
  EvaluatorLimits limits_;
  ConstantStore constants_;
  BufferPool pool_;
  Observer observer_;

  std::vector<TensorView> inputs_;  // as graph().inputs()
  std::vector<Output> outputs_;     // as graph().outputs()

  // Made by plan(), valid until a binding changes what is needed.
  bool planned_ = false;
  std::vector<NodeId> needed_;         // nodes to evaluate, in order
  std::vector<int32_t> reads_;         // per value: by needed nodes and by outputs
  std::vector<const Output*> direct_;  // per value: the output whose memory it is computed in

  // Of the current run, per value.
  std::vector<HeldTensor> values_;
  std::vector<int32_t> reads_left_;
};

}  // namespace lathe
