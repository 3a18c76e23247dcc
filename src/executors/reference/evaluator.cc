#include "executors/reference/evaluator.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "executors/reference/evaluable.h"
#include "executors/reference/reference_kernels.h"
#include "executors/reference/strided_copy.h"
#include "support/error.h"

namespace lathe {
namespace {

size_t at(int32_t id) { return static_cast<size_t>(id); }

std::string describe(DType dtype, const Shape& shape) {
  return std::string(name_of(dtype)) + to_string(shape);
}

void check_view(std::string_view name, const Value& value, const TensorView& view) {
  if (view.dtype != value.dtype || view.shape != value.shape) {
    fail({.what = "the bound tensor does not fit",
          .where = std::string(name),
          .expected = describe(value.dtype, value.shape),
          .found = describe(view.dtype, view.shape)});
  }
  const bool contiguous =
      view.strides.size() == view.shape.size() &&
      (view.shape.empty() || view.shape.back() <= 1 || view.strides.back() == 1);
  if (!contiguous) {
    fail({.what = "the last dimension of the bound tensor is not contiguous",
          .where = std::string(name)});
  }
}

/// The input whose data a node's output is, or -1 where the node has to compute or move something.
int renamed_input(const Graph& graph, const Node& node) {
  const auto same_meaning = [&] {
    const Value& from = graph.value(node.inputs[0]);
    const Value& to = graph.value(node.output());
    return from.dtype == to.dtype && from.encoding == to.encoding;
  };
  switch (node.op) {
    case Op::alias:
    case Op::dropout:
    case Op::reshape:
    case Op::unsqueeze:
    case Op::view:
      return 0;
    case Op::copy_:
      return 1;
    case Op::slice:
      return graph.value(node.inputs[0]).shape == graph.value(node.output()).shape ? 0 : -1;
    case Op::to:
    case Op::requantize:
      return same_meaning() ? 0 : -1;
    default:
      return -1;
  }
}

/// First and past-the-end byte that a view reaches.
std::pair<const std::byte*, const std::byte*> extent(const TensorView& view) {
  int64_t last = 0;
  for (size_t d = 0; d < view.shape.size(); ++d) {
    if (view.shape[d] == 0) return {view.data, view.data};
    last += (view.shape[d] - 1) * view.strides[d];
  }
  return {view.data, view.data + (last + 1) * (bits_of(view.dtype) / 8)};
}

bool overlap(const TensorView& a, const TensorView& b) {
  const auto [a_begin, a_end] = extent(a);
  const auto [b_begin, b_end] = extent(b);
  return std::less<>()(a_begin, b_end) && std::less<>()(b_begin, a_end);
}

/// A dense tensor as a matrix of its last dimension.
TensorView as_rows(const TensorView& view) {
  const int64_t width = view.shape.empty() ? 1 : view.shape.back();
  const int64_t rows = width == 0 ? 0 : elements(view.shape) / width;
  return dense_view(view.dtype, {rows, width}, view.data);
}

std::vector<TensorView> views_of(const std::vector<HeldTensor>& tensors) {
  std::vector<TensorView> views;
  for (const HeldTensor& tensor : tensors) views.push_back(tensor.view);
  return views;
}

TensorView rows_of(const TensorView& matrix, int64_t first, int64_t count) {
  const int64_t row_bytes = byte_size(matrix.dtype, {matrix.shape[1]});
  return dense_view(matrix.dtype, {count, matrix.shape[1]}, matrix.data + first * row_bytes);
}

}  // namespace

Evaluator::Evaluator(std::shared_ptr<const Graph> graph, std::shared_ptr<NodeKernels> kernels,
                     EvaluatorLimits limits)
    : graph_(std::move(graph)),
      kernels_(std::move(kernels)),
      limits_(limits),
      constants_(limits.kept_constants) {
  require_evaluable(*graph_);
  if (kernels_ == nullptr) kernels_ = std::make_shared<ReferenceKernels>();
  inputs_.resize(graph_->inputs().size());
  for (const GraphOutput& output : graph_->outputs()) outputs_.push_back({output.value, {}, {}});
}

void Evaluator::bind_input(std::string_view name, const TensorView& view) {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Value& value = graph_->value(graph_->inputs()[i]);
    if (value.name != name) continue;
    check_view(name, value, view);
    inputs_[i] = view;
    planned_ = false;
    return;
  }
  fail({.what = "the graph has no such input", .found = fmt::format("'{}'", printable(name))});
}

Evaluator::Output& Evaluator::output_named(std::string_view name) {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (graph_->outputs()[i].name == name) return outputs_[i];
  }
  fail({.what = "the graph has no such output", .found = fmt::format("'{}'", printable(name))});
}

void Evaluator::bind_output(std::string_view name, const TensorView& view) {
  Output& output = output_named(name);
  if (view.data != nullptr) check_view(name, graph_->value(output.value), view);
  output.view = view;
  output.sink = nullptr;
  planned_ = false;
}

void Evaluator::stream_output(std::string_view name, RowSink sink) {
  Output& output = output_named(name);
  output.view = {};
  output.sink = std::move(sink);
  planned_ = false;
}

void Evaluator::observe(Observer observer) {
  observer_ = std::move(observer);
  planned_ = false;
}

void Evaluator::plan() {
  if (planned_) return;
  const auto count = at(graph_->value_count());
  reads_.assign(count, 0);
  std::vector<bool> wanted(count, false);
  for (const Output& output : outputs_) {
    if (output.view.data != nullptr) ++reads_[at(output.value)];
    if (output.view.data != nullptr || output.sink) wanted[at(output.value)] = true;
  }
  needed_.clear();
  const std::vector<NodeId>& order = graph_->order();
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    const Node& node = graph_->node(*id);
    const bool needed = observer_ || std::any_of(node.outputs.begin(), node.outputs.end(),
                                                 [&](ValueId v) { return wanted[at(v)]; });
    if (!needed) continue;
    needed_.push_back(*id);
    for (const ValueId input : node.inputs) {
      wanted[at(input)] = true;
      ++reads_[at(input)];
    }
  }
  std::reverse(needed_.begin(), needed_.end());
  choose_direct_outputs();
  planned_ = true;
}

/// A dense output is computed where it shall be, unless memory of an input is there: a later node
/// may still read that.
void Evaluator::choose_direct_outputs() {
  direct_.assign(at(graph_->value_count()), nullptr);
  for (const Output& output : outputs_) {
    const Node* producer = graph_->producer(output.value);
    if (output.view.data == nullptr || !is_dense(output.view) || producer == nullptr ||
        renamed_input(*graph_, *producer) >= 0) {
      continue;
    }
    const bool free = std::none_of(inputs_.begin(), inputs_.end(), [&](const TensorView& input) {
      return input.data != nullptr && overlap(input, output.view);
    });
    if (free) direct_[at(output.value)] = &output;
  }
}

void Evaluator::run() {
  plan();
  values_.assign(at(graph_->value_count()), {});
  reads_left_ = reads_;
  pool_.restart_peak();
  start_inputs();
  for (const NodeId id : needed_) {
    const Node& node = graph_->node(id);
    if (is_chunked(node)) {
      evaluate_in_chunks(node);
    } else {
      evaluate(node);
    }
    for (const ValueId input : node.inputs) release(input);
  }
  deliver();
  values_.clear();
}

void Evaluator::start_inputs() {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const ValueId id = graph_->inputs()[i];
    const Value& value = graph_->value(id);
    const bool empty = elements(value.shape) == 0;
    if (inputs_[i].data == nullptr && !empty) {
      fail({.what = "an input is not bound", .where = value.name});
    }
    HeldTensor tensor{inputs_[i], nullptr};
    if (empty || !is_dense(inputs_[i])) {
      tensor = new_tensor(value);
      if (!empty) StridedCopy(inputs_[i], tensor.view).copy();
    }
    place(id, std::move(tensor));
  }
}

HeldTensor Evaluator::new_tensor(const Value& value) {
  std::shared_ptr<std::byte> owner = pool_.take(byte_size(value.dtype, value.shape));
  return {dense_view(value.dtype, value.shape, owner.get()), owner};
}

HeldTensor Evaluator::held(ValueId id) {
  const Value& value = graph_->value(id);
  return value.is_constant() ? constants_.get(value, pool_) : values_[at(id)];
}

std::vector<HeldTensor> Evaluator::operands_of(const Node& node) {
  std::vector<HeldTensor> tensors;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Value& value = graph_->value(node.inputs[i]);
    const bool left_to_kernel = value.is_constant() && value.constant->floats != nullptr &&
                                !constants_.keeps(value) &&
                                kernels_->reads_source(*graph_, node, i);
    if (left_to_kernel) {
      tensors.push_back({dense_view(value.dtype, value.shape, nullptr), nullptr});
    } else {
      tensors.push_back(held(node.inputs[i]));
    }
  }
  return tensors;
}

void Evaluator::evaluate(const Node& node) {
  if (const int index = renamed_input(*graph_, node); index >= 0) {
    HeldTensor tensor = held(node.inputs[static_cast<size_t>(index)]);
    const Value& value = graph_->value(node.output());
    tensor.view = dense_view(value.dtype, value.shape, tensor.view.data);
    place(node.output(), std::move(tensor));
    return;
  }
  const std::vector<HeldTensor> operands = operands_of(node);
  std::vector<HeldTensor> results;
  for (const ValueId id : node.outputs) {
    const Value& value = graph_->value(id);
    if (const Output* direct = direct_[at(id)]) {
      results.push_back({dense_view(value.dtype, value.shape, direct->view.data), nullptr});
    } else {
      results.push_back(new_tensor(value));
    }
  }
  kernels_->evaluate(*graph_, node, views_of(operands), views_of(results));
  for (size_t i = 0; i < results.size(); ++i) place(node.outputs[i], std::move(results[i]));
}

bool Evaluator::is_chunked(const Node& node) const {
  return node.op == Op::linear && reads_[at(node.output())] == 0;
}

void Evaluator::evaluate_in_chunks(const Node& node) {
  const std::vector<HeldTensor> operands = operands_of(node);
  std::vector<TensorView> inputs = views_of(operands);
  const ValueId id = node.output();
  const Value& value = graph_->value(id);
  const TensorView x = as_rows(inputs[0]);   // [rows, K]
  const int64_t width = value.shape.back();  // N
  if (elements(value.shape) == 0) return;
  const int64_t row_bytes = byte_size(value.dtype, {width});
  const int64_t step = std::clamp<int64_t>(limits_.chunk / row_bytes, 1, x.shape[0]);
  const std::shared_ptr<std::byte> memory = pool_.take(step * row_bytes);
  for (int64_t first = 0; first < x.shape[0]; first += step) {
    const int64_t count = std::min(step, x.shape[0] - first);
    const TensorView chunk = dense_view(value.dtype, {count, width}, memory.get());
    inputs[0] = rows_of(x, first, count);
    kernels_->evaluate(*graph_, node, inputs, std::span(&chunk, 1));
    if (observer_) observer_(id, chunk);
    for (const Output& output : outputs_) {
      if (output.value == id && output.sink) output.sink(first, chunk);
    }
  }
}

void Evaluator::place(ValueId id, HeldTensor tensor) {
  if (observer_) observer_(id, tensor.view);
  for (const Output& output : outputs_) {
    if (output.value == id && output.sink) output.sink(0, as_rows(tensor.view));
  }
  if (reads_left_[at(id)] > 0) values_[at(id)] = std::move(tensor);
}

void Evaluator::release(ValueId id) {
  if (--reads_left_[at(id)] == 0) values_[at(id)] = {};
}

void Evaluator::deliver() {
  for (const Output& output : outputs_) {
    if (output.view.data == nullptr || direct_[at(output.value)] == &output) continue;
    StridedCopy(held(output.value).view, output.view).copy();
  }
}

}  // namespace lathe
