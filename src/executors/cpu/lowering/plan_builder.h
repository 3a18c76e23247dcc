#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "executors/cpu/place.h"
#include "executors/cpu/plan.h"

namespace lathe {

/// A plan in the making: where every value of a graph lies, and the steps so far. Nodes are lowered
/// in execution order, so what a node reads has a place when its turn comes.
class PlanBuilder {
 public:
  PlanBuilder(std::shared_ptr<const Graph> graph, int threads);

  const std::shared_ptr<const Graph>& graph() const { return graph_; }
  const Value& value(ValueId id) const { return graph_->value(id); }
  int threads() const { return threads_; }

  /// Where a value lies. The strides of a bound input are known only when it runs, so its rows are
  /// copied first, unless there is only one.
  Place place(ValueId id);
  /// As place(), with the elements one behind the other: copied where they are not.
  Place dense(ValueId id);
  /// The bytes of a constant, from a multiple of 64 on.
  const std::byte* constant_data(ValueId id);
  /// The buffer of a graph input, whose strides are those of Frame::inputs.
  BufferId bound_input(ValueId id) const;

  /// Dense memory for what the next step computes: the caller's, where the value is an output.
  BufferId define(ValueId id);
  /// Says that a value lies in memory that has been computed. An output is copied to the caller's
  /// memory and lies there from then on.
  void define_at(ValueId id, Place where);
  /// Whether nothing but one output reads a value.
  bool only_an_output(ValueId id) const;

  /// Memory in the arena; scratch holds data during one step only.
  BufferId new_buffer(Buffer::Kind kind, int64_t bytes);
  /// `buffers` are those that the step reads or writes.
  void emit(std::unique_ptr<Step> step, const std::vector<BufferId>& buffers,
            BufferId only_for = -1);
  /// The last step, where it is one that always runs; else null.
  Step* last_step() const;
  /// The last step touches this buffer too.
  void extend_last_step(BufferId buffer);

  /// Copies the outputs that are still open and lays out the arena.
  Plan finish();

 private:
  int64_t bytes_of(ValueId id) const;
  BufferId add_buffer(Buffer buffer);
  Place constant(ValueId id);
  const GraphOutput* open_output(ValueId id) const;
  BufferId open_buffer(const GraphOutput& output);
  void emit_copy(ValueId id, const Place& to);
  void touch(BufferId buffer);

  std::shared_ptr<const Graph> graph_;
  int threads_;
  std::vector<std::vector<NodeId>> users_;
  std::vector<std::optional<Place>> places_;           // by ValueId
  std::unordered_map<ValueId, BufferId> inputs_;       // as bound
  std::unordered_map<std::string, BufferId> outputs_;  // by name
  Plan plan_;
};

}  // namespace lathe
