// Operators that give or read conditions: which positions a mask lets through, and choices.

#include "graph/operators/rules.h"

namespace lathe::rules {
namespace {

using Types = std::span<const TensorType>;
using Views = std::span<const TensorView>;

bool nothing(int) { return false; }

// --- le, gt: two tensors that broadcast, or a tensor and the scalar {other}

std::vector<TensorType> infer_compare(const Node& node, Types inputs) {
  if (inputs.size() == 1) {
    node.attributes.real("other");
    return {{DType::boolean, inputs[0].shape}};
  }
  return {{DType::boolean, broadcast(node, inputs[0].shape, inputs[1].shape)}};
}

void evaluate_le(const Node& node, Views in, Views out) {
  evaluate_binary(node, in, out, [](auto a, auto b) { return a <= b; });
}
void evaluate_gt(const Node& node, Views in, Views out) {
  evaluate_binary(node, in, out, [](auto a, auto b) { return a > b; });
}

// --- and_: of two conditions

std::vector<TensorType> infer_and(const Node& node, Types inputs) {
  for (const TensorType& input : inputs) {
    if (input.dtype != DType::boolean) refuse(node, "an operand is not boolean");
  }
  return {{DType::boolean, broadcast(node, inputs[0].shape, inputs[1].shape)}};
}

void evaluate_and(const Node&, Views in, Views out) {
  const Shape& shape = out[0].shape;
  auto* result = out[0].as<uint8_t>();
  for_each<2>(shape, {broadcast_strides(in[0].shape, shape), broadcast_strides(in[1].shape, shape)},
              [&](int64_t i, int64_t j) {
                const bool both = in[0].as<uint8_t>()[i] != 0 && in[1].as<uint8_t>()[j] != 0;
                *result++ = both ? 1 : 0;
              });
}

// --- where(condition, a, b), or where(condition, a) {other}: a where the condition holds, else b

std::vector<TensorType> infer_where(const Node& node, Types inputs) {
  if (inputs[0].dtype != DType::boolean) refuse(node, "the condition is not boolean");
  Shape shape = broadcast(node, inputs[0].shape, inputs[1].shape);
  if (inputs.size() == 3) {
    shape = broadcast(node, shape, inputs[2].shape);
  } else {
    node.attributes.real("other");
  }
  return {{inputs[1].dtype, std::move(shape)}};
}

void evaluate_where(const Node& node, Views in, Views out) {
  const Shape& shape = out[0].shape;
  const Shape condition = broadcast_strides(in[0].shape, shape);
  const Shape first = broadcast_strides(in[1].shape, shape);
  float* result = out[0].as<float>();
  const auto* holds = in[0].as<uint8_t>();
  const float* a = in[1].as<float>();
  if (in.size() == 3) {
    const float* b = in[2].as<float>();
    for_each<3>(shape, {condition, first, broadcast_strides(in[2].shape, shape)},
                [&](int64_t i, int64_t j, int64_t k) { *result++ = holds[i] != 0 ? a[j] : b[k]; });
    return;
  }
  const auto other = static_cast<float>(node.attributes.real("other"));
  for_each<2>(shape, {condition, first},
              [&](int64_t i, int64_t j) { *result++ = holds[i] != 0 ? a[j] : other; });
}

constexpr auto kNone = EncodingRule::none;

const OperatorRule kRules[] = {
    {Op::and_, "aten.__and__", "and", 2, 2, kNone, nothing, infer_and, evaluate_and},
    {Op::gt, "aten.gt", "gt", 1, 2, kNone, nothing, infer_compare, evaluate_gt},
    {Op::le, "aten.le", "le", 1, 2, kNone, nothing, infer_compare, evaluate_le},
    {Op::where, "aten.where", "where", 2, 3, EncodingRule::computes, nothing, infer_where,
     evaluate_where},
};

}  // namespace

std::span<const OperatorRule> logic() { return kRules; }

}  // namespace lathe::rules
