#include "executors/cpu/lowering/plan_builder.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "executors/cpu/fusion.h"
#include "executors/cpu/moved_place.h"
#include "executors/cpu/steps/copy_step.h"
#include "executors/cpu/values.h"
#include "executors/reference/buffer_pool.h"
#include "graph/summary.h"

namespace lathe {
namespace {

size_t at(int32_t id) { return static_cast<size_t>(id); }

/// The bytes where they are, or a copy where kernels could not read them as whole cache lines.
std::shared_ptr<const std::byte> aligned(const Constant& constant) {
  constexpr uintptr_t kCacheLine = 64;
  if (reinterpret_cast<uintptr_t>(constant.bytes.get()) % kCacheLine == 0) return constant.bytes;
  std::shared_ptr<std::byte> copy = BufferPool().take(constant.byte_count);
  std::copy_n(constant.bytes.get(), constant.byte_count, copy.get());
  return copy;
}

}  // namespace

PlanBuilder::PlanBuilder(std::shared_ptr<const Graph> graph, int threads)
    : graph_(std::move(graph)),
      threads_(threads),
      users_(graph_->users()),
      places_(at(graph_->value_count())) {
  for (const ValueId id : graph_->inputs()) {
    const BufferId buffer = add_buffer({.kind = Buffer::Kind::input,
                                        .bytes = static_cast<size_t>(bytes_of(id)),
                                        .name = value(id).name});
    inputs_[id] = buffer;
    const Shape& shape = value(id).shape;
    if (row_count(shape) == 1) places_[at(id)] = Place{buffer, 0, dense_strides(shape)};
  }
}

Place PlanBuilder::place(ValueId id) {
  if (value(id).is_constant()) return constant(id);
  return places_[at(id)] ? *places_[at(id)] : dense(id);
}

Place PlanBuilder::dense(ValueId id) { return in_order(id, dense_strides(value(id).shape)); }

Place PlanBuilder::in_order(ValueId id, const Shape& strides) {
  const Value& tensor = value(id);
  if (tensor.is_constant()) constant(id);
  std::optional<Place>& where = places_[at(id)];
  if (where && same_order(tensor.shape, where->strides, strides)) return *where;
  const Place copy{new_buffer(Buffer::Kind::arena, bytes_of(id)), 0, strides};
  emit_copy(id, copy);
  // Constants stay where they are: their bytes are asked for as well.
  if (!tensor.is_constant()) where = copy;
  return copy;
}

BufferId PlanBuilder::bound_input(ValueId id) const { return inputs_.at(id); }

Place PlanBuilder::constant(ValueId id) {
  std::optional<Place>& where = places_[at(id)];
  if (!where) {
    const BufferId buffer =
        add_buffer({.kind = Buffer::Kind::constant,
                    .bytes = static_cast<size_t>(value(id).constant->byte_count),
                    .constant = aligned(*value(id).constant)});
    where = Place{buffer, 0, dense_strides(value(id).shape)};
  }
  return *where;
}

const std::byte* PlanBuilder::constant_data(ValueId id) { return data(constant(id).buffer); }

BufferId PlanBuilder::constant_buffer(ValueId id) { return constant(id).buffer; }

const std::byte* PlanBuilder::data(BufferId constant) const {
  return plan_.buffers[at(constant)].constant.get();
}

BufferId PlanBuilder::define(ValueId id) {
  const Place where = reserve(id, dense_strides(value(id).shape));
  places_[at(id)] = where;
  return where.buffer;
}

Place PlanBuilder::reserve(ValueId id, Shape strides) {
  Place where{-1, 0, std::move(strides)};
  const GraphOutput* output = open_output_dense(id, where);
  where.buffer =
      output == nullptr ? new_buffer(Buffer::Kind::arena, bytes_of(id)) : open_buffer(*output);
  return where;
}

void PlanBuilder::define_at(ValueId id, Place where) {
  places_[at(id)] = std::move(where);
  const GraphOutput* output = open_output(id);
  if (output == nullptr) return;
  const Place target{open_buffer(*output), 0, dense_strides(value(id).shape)};
  emit_copy(id, target);
  places_[at(id)] = target;
}

BufferId PlanBuilder::only_output(ValueId id) const {
  while (const Node* node = only_movement(id)) id = node->output();
  const GraphOutput* found = nullptr;
  for (const GraphOutput& output : graph_->outputs()) {
    if (output.value != id) continue;
    if (found != nullptr) return -1;
    found = &output;
  }
  if (found == nullptr || !users_[at(id)].empty()) return -1;
  const auto buffer = outputs_.find(found->name);
  return buffer == outputs_.end() ? -1 : buffer->second;
}

/// The only reader of a value that is no output, where it only changes strides.
const Node* PlanBuilder::only_movement(ValueId id) const {
  if (users_[at(id)].size() != 1) return nullptr;
  const Node& node = graph_->node(users_[at(id)].front());
  const std::vector<GraphOutput>& outputs = graph_->outputs();
  const bool given = std::any_of(outputs.begin(), outputs.end(),
                                 [&](const GraphOutput& output) { return output.value == id; });
  return given || !only_changes_strides(*graph_, node) ? nullptr : &node;
}

/// An output without a buffer that would be dense, and all of its memory, if the value were at
/// `where`.
const GraphOutput* PlanBuilder::open_output_dense(ValueId id, Place where) const {
  const int64_t count = elements(value(id).shape);
  while (true) {
    const Value& tensor = value(id);
    if (elements(tensor.shape) != count) return nullptr;
    if (const GraphOutput* output = open_output(id)) {
      return same_order(tensor.shape, where.strides, dense_strides(tensor.shape)) ? output
                                                                                  : nullptr;
    }
    const Node* node = only_movement(id);
    if (node == nullptr) return nullptr;
    const std::optional<Place> moved = moved_place(*graph_, *node, where);
    if (!moved) return nullptr;
    where = *moved;
    id = node->output();
  }
}

/// An output that is this value and has no buffer yet.
const GraphOutput* PlanBuilder::open_output(ValueId id) const {
  for (const GraphOutput& output : graph_->outputs()) {
    if (output.value == id && !outputs_.contains(output.name)) return &output;
  }
  return nullptr;
}

BufferId PlanBuilder::open_buffer(const GraphOutput& output) {
  const BufferId buffer = add_buffer({.kind = Buffer::Kind::output,
                                      .bytes = static_cast<size_t>(bytes_of(output.value)),
                                      .name = output.name});
  outputs_[output.name] = buffer;
  return buffer;
}

int64_t PlanBuilder::bytes_of(ValueId id) const {
  return byte_size(value(id).dtype, value(id).shape);
}

BufferId PlanBuilder::add_buffer(Buffer buffer) {
  plan_.buffers.push_back(std::move(buffer));
  return static_cast<BufferId>(plan_.buffers.size() - 1);
}

BufferId PlanBuilder::new_buffer(Buffer::Kind kind, int64_t bytes) {
  return add_buffer({.kind = kind, .bytes = static_cast<size_t>(bytes)});
}

void PlanBuilder::emit_copy(ValueId id, const Place& to) {
  const Value& tensor = value(id);
  if (elements(tensor.shape) == 0) return;
  const std::optional<Place>& where = places_[at(id)];
  const Place from = where ? *where : Place{inputs_.at(id)};
  emit_aside(make_copy_step({tensor.shape, bits_of(tensor.dtype) / 8, from, !where, to}),
             {{from.buffer, bytes_of(id)}, to.buffer});
}

void PlanBuilder::emit_aside(std::unique_ptr<Step> step, std::vector<Access> accesses) {
  plan_.steps.push_back(
      {.step = std::move(step), .accesses = std::move(accesses), .nodes = nodes_});
}

void PlanBuilder::begin(std::vector<NodeId> nodes) {
  nodes_ = std::move(nodes);
  multiply_adds_ = 0;
  for (const NodeId id : nodes_) multiply_adds_ += multiply_adds(*graph_, graph_->node(id));
}

void PlanBuilder::emit(std::unique_ptr<Step> step, std::vector<Access> accesses,
                       BufferId only_for) {
  plan_.steps.push_back(
      {std::move(step), std::move(accesses), nodes_, std::exchange(multiply_adds_, 0), only_for});
}

void PlanBuilder::extend_step(int number, const std::vector<Access>& accesses) {
  PlannedStep& step = plan_.steps[at(number)];
  step.accesses.insert(step.accesses.end(), accesses.begin(), accesses.end());
  step.nodes.insert(step.nodes.end(), nodes_.begin(), nodes_.end());
  step.multiply_adds += std::exchange(multiply_adds_, 0);
}

void PlanBuilder::set_lives() {
  int number = 0;
  for (const PlannedStep& step : plan_.steps) {
    for (const Access& access : step.accesses) {
      Buffer& buffer = plan_.buffers[at(access.buffer)];
      if (buffer.first_step < 0) buffer.first_step = number;
      buffer.last_step = number;
    }
    ++number;
  }
}

Plan PlanBuilder::finish() {
  for (const GraphOutput& output : graph_->outputs()) {
    if (outputs_.contains(output.name)) continue;
    if (const Node* producer = graph_->producer(output.value)) begin({producer->id});
    emit_copy(output.value, {open_buffer(output), 0, dense_strides(value(output.value).shape)});
  }
  fuse_steps(plan_, threads_);
  set_lives();
  plan_.arena_bytes = plan_arena(plan_.buffers);
  return std::move(plan_);
}

}  // namespace lathe
