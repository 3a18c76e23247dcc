// Operators that make small integer tensors: positions and masks of a graph as it was traced.

#include <algorithm>

#include "graph/operators/rules.h"

namespace lathe::rules {
namespace {

using Types = std::span<const TensorType>;
using Views = std::span<const TensorView>;

bool nothing(int) { return false; }

// --- arange {end}: 0, 1, ... below end; {start, end, step}: start, start + step, ... below end

int64_t step_of(const Node& node) {
  return node.attributes.has("step") ? node.attributes.integer("step") : 1;
}
int64_t start_of(const Node& node) {
  return node.attributes.has("start") ? node.attributes.integer("start") : 0;
}

std::vector<TensorType> infer_arange(const Node& node, Types) {
  const int64_t step = step_of(node);
  const int64_t length = node.attributes.integer("end") - start_of(node);
  if (step < 1 || length < 0) refuse(node, "the range does not go up");
  return {{DType::i64, {(length + step - 1) / step}}};
}

void evaluate_arange(const Node& node, Views, Views out) {
  const int64_t start = start_of(node);
  const int64_t step = step_of(node);
  for (int64_t i = 0; i < out[0].shape[0]; ++i) out[0].as<int64_t>()[i] = start + i * step;
}

// --- new_ones(like) {sizes}: true everywhere

std::vector<TensorType> infer_new_ones(const Node& node, Types) {
  return {{DType::boolean, node.attributes.integers("sizes")}};
}

void evaluate_new_ones(const Node&, Views, Views out) {
  std::fill_n(out[0].as<uint8_t>(), elements(out[0].shape), uint8_t{1});
}

std::vector<TensorType> infer_zeros(const Node& node, Types) {
  return {{DType::f32, node.attributes.integers("sizes")}};
}

void evaluate_zeros(const Node&, Views, Views out) {
  std::fill_n(out[0].as<float>(), elements(out[0].shape), 0.0f);
}

const OperatorRule kRules[] = {
    {Op::arange, "aten.arange", "arange", 0, 0, EncodingRule::none, nothing, infer_arange,
     evaluate_arange},
    {Op::new_ones, "aten.new_ones", "new_ones", 1, 1, EncodingRule::none, nothing, infer_new_ones,
     evaluate_new_ones},
    {Op::zeros, "aten.zeros", "zeros", 0, 0, EncodingRule::none, nothing, infer_zeros,
     evaluate_zeros},
};

}  // namespace

std::span<const OperatorRule> making() { return kRules; }

}  // namespace lathe::rules
