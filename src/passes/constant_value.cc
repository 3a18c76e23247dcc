#include "passes/constant_value.h"

#include <algorithm>
#include <utility>

#include "graph/operators.h"

namespace lathe {
namespace {

TensorView view_of(ConstantTensor& tensor) {
  return dense_view(tensor.dtype, tensor.shape, tensor.bytes.data());
}

ConstantTensor empty_tensor(DType dtype, Shape shape) {
  ConstantTensor tensor{dtype, std::move(shape), {}};
  tensor.bytes.resize(static_cast<size_t>(byte_size(dtype, tensor.shape)));
  return tensor;
}

}  // namespace

void ConstantValues::assume(ValueId value, ConstantTensor numbers) {
  known_[value] = true;
  numbers_[value] = std::move(numbers);
}

bool ConstantValues::is_known(ValueId value) {
  if (const auto found = known_.find(value); found != known_.end()) return found->second;
  const Value& asked = graph_.value(value);
  const Node* node = graph_.producer(value);
  const bool known =
      asked.is_constant()
          ? asked.constant->floats != nullptr
          : node != nullptr && std::all_of(node->inputs.begin(), node->inputs.end(),
                                           [&](ValueId input) { return is_known(input); });
  known_[value] = known;
  return known;
}

std::optional<ConstantTensor> ConstantValues::find(ValueId value) {
  if (!is_known(value)) return std::nullopt;
  if (const auto found = numbers_.find(value); found != numbers_.end()) return found->second;
  ConstantTensor numbers;
  if (const Node* node = graph_.producer(value)) {
    numbers = compute(*node);
  } else {
    const Value& constant = graph_.value(value);
    numbers = empty_tensor(DType::f32, constant.shape);
    constant.constant->floats->read(0, elements(constant.shape), view_of(numbers).as<float>());
  }
  return numbers_[value] = std::move(numbers);
}

ConstantTensor ConstantValues::compute(const Node& node) {
  std::vector<ConstantTensor> inputs;
  for (const ValueId input : node.inputs) inputs.push_back(*find(input));
  std::vector<TensorType> types;
  std::vector<TensorView> views;
  for (ConstantTensor& input : inputs) {
    types.push_back({input.dtype, input.shape});
    views.push_back(view_of(input));
  }
  const OperatorRule& rule = rule_of(node.op);
  const TensorType type = rule.infer(node, types).front();
  ConstantTensor result = empty_tensor(type.dtype, type.shape);
  const TensorView view = view_of(result);
  rule.evaluate(node, views, {&view, 1});
  return result;
}

}  // namespace lathe
