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

  /// The steps from here on compute these nodes.
  void begin(std::vector<NodeId> nodes);

  /// Where a value lies. The strides of a bound input are known only when it runs, so its rows are
  /// copied first, unless there is only one.
  Place place(ValueId id);
  /// As place(), with the elements one behind the other: copied where they are not.
  Place dense(ValueId id);
  /// As place(), with the elements in the order of `strides`, which fill memory: copied where they
  /// are in another one.
  Place in_order(ValueId id, const Shape& strides);
  /// The bytes of a constant, from a multiple of 64 on.
  const std::byte* constant_data(ValueId id);
  /// The buffer that holds them.
  BufferId constant_buffer(ValueId id);
  /// The buffer of a graph input, whose strides are those of Frame::inputs.
  BufferId bound_input(ValueId id) const;

  /// What lower_attention() has computed from a mask for all layers: the buffer, or -1 before.
  BufferId& mask_columns(ValueId mask) { return mask_columns_.try_emplace(mask, -1).first->second; }

  /// Dense memory for what the next step computes: the caller's, where the value is an output.
  BufferId define(ValueId id);
  /// Memory for what the next step computes in the order of `strides`, which fill it: the caller's,
  /// where the value, or what only changes its strides, is an output and dense there. To be
  /// followed by define_at() behind that step.
  Place reserve(ValueId id, Shape strides);
  /// Says that a value lies in memory that has been computed. An output is copied to the caller's
  /// memory, if it is not there, and lies there from then on.
  void define_at(ValueId id, Place where);
  /// The caller's memory where nothing reads a value, or what only changes its strides, but one
  /// output that has such memory already; else -1.
  BufferId only_output(ValueId id) const;

  /// Memory in the arena; scratch holds data during one step only.
  BufferId new_buffer(Buffer::Kind kind, int64_t bytes);
  void emit(std::unique_ptr<Step> step, std::vector<Access> accesses, BufferId only_for = -1);
  /// A step that computes none of the products of the nodes that are being lowered.
  void emit_aside(std::unique_ptr<Step> step, std::vector<Access> accesses);
  /// A step that copies a value from where it lies.
  void emit_copy(ValueId id, const Place& to);
  /// The number of the step that multiplies what is in a buffer: the last one, -1 before any.
  int& product_step(BufferId input) { return product_steps_.try_emplace(input, -1).first->second; }
  /// The number of the last step.
  int last_step() const { return static_cast<int>(plan_.steps.size()) - 1; }
  Step* step(int number) const { return plan_.steps[static_cast<size_t>(number)].step.get(); }
  /// A step computes the nodes of this moment too, with these accesses.
  void extend_step(int number, const std::vector<Access>& accesses);

  /// The results of a token depend on those that come later.
  void need_every_token() { plan_.every_token_counts = true; }

  /// Copies the outputs that are still open, fuses steps and lays out the arena.
  Plan finish();

 private:
  int64_t bytes_of(ValueId id) const;
  BufferId add_buffer(Buffer buffer);
  const std::byte* data(BufferId constant) const;
  Place constant(ValueId id);
  const GraphOutput* open_output(ValueId id) const;
  const GraphOutput* open_output_dense(ValueId id, Place where) const;
  const Node* only_movement(ValueId id) const;
  BufferId open_buffer(const GraphOutput& output);
  void set_lives();

  std::shared_ptr<const Graph> graph_;
  int threads_;
  std::vector<std::vector<NodeId>> users_;
  std::vector<std::optional<Place>> places_;           // by ValueId
  std::unordered_map<ValueId, BufferId> inputs_;       // as bound
  std::unordered_map<std::string, BufferId> outputs_;  // by name
  std::unordered_map<ValueId, BufferId> mask_columns_;
  std::unordered_map<BufferId, int> product_steps_;
  std::vector<NodeId> nodes_;  // that are being lowered
  int64_t multiply_adds_ = 0;  // of theirs that no step has yet
  Plan plan_;
};

}  // namespace lathe
