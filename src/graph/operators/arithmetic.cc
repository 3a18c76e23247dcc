// Operators that compute one number from one or a few: elementwise, and the reductions of a norm
// and of softmax. Float32 on the values, sums in float64 so that the rule is an accurate yardstick.

#include <algorithm>
#include <cmath>
#include <numbers>

#include "graph/operators/rules.h"

namespace lathe::rules {
namespace {

using Types = std::span<const TensorType>;
using Views = std::span<const TensorView>;

bool nothing(int) { return false; }

std::vector<TensorType> same_type(const Node&, Types inputs) { return {inputs[0]}; }

// --- two operands: tensors that broadcast, or a tensor and the scalar {other}

std::vector<TensorType> infer_binary(const Node& node, Types inputs) {
  if (inputs.size() == 1) {
    node.attributes.real("other");
    return {inputs[0]};
  }
  return {{inputs[0].dtype, broadcast(node, inputs[0].shape, inputs[1].shape)}};
}

void evaluate_add(const Node& node, Views in, Views out) {
  evaluate_binary(node, in, out, [](auto a, auto b) { return static_cast<decltype(a)>(a + b); });
}
void evaluate_sub(const Node& node, Views in, Views out) {
  evaluate_binary(node, in, out, [](auto a, auto b) { return static_cast<decltype(a)>(a - b); });
}
void evaluate_mul(const Node& node, Views in, Views out) {
  evaluate_binary(node, in, out, [](auto a, auto b) { return static_cast<decltype(a)>(a * b); });
}
void evaluate_div(const Node& node, Views in, Views out) {
  evaluate_binary(node, in, out, [](auto a, auto b) { return static_cast<decltype(a)>(a / b); });
}

std::vector<TensorType> infer_div(const Node& node, Types inputs) {
  const DType type = inputs[0].dtype;
  if (type == DType::i64 || type == DType::i32 || type == DType::boolean) {
    refuse(node, "no division of this type", "f32 or codes", std::string(name_of(type)));
  }
  return infer_binary(node, inputs);
}

// --- one operand

template <typename Function>
void evaluate_unary(Views in, Views out, const Function& function) {
  const int64_t count = elements(out[0].shape);
  const float* x = in[0].as<float>();
  float* y = out[0].as<float>();
  for (int64_t i = 0; i < count; ++i) y[i] = function(x[i]);
}

void evaluate_cos(const Node&, Views in, Views out) {
  evaluate_unary(in, out, [](float x) { return std::cos(x); });
}
void evaluate_sin(const Node&, Views in, Views out) {
  evaluate_unary(in, out, [](float x) { return std::sin(x); });
}
void evaluate_neg(const Node&, Views in, Views out) {
  evaluate_unary(in, out, [](float x) { return -x; });
}
void evaluate_rsqrt(const Node&, Views in, Views out) {
  evaluate_unary(in, out, [](float x) { return 1.0f / std::sqrt(x); });
}
void evaluate_sigmoid(const Node&, Views in, Views out) {
  evaluate_unary(in, out, [](float x) { return 1.0f / (1.0f + std::exp(-x)); });
}
void evaluate_silu(const Node&, Views in, Views out) {
  evaluate_unary(in, out, [](float x) { return x / (1.0f + std::exp(-x)); });
}
void evaluate_reciprocal(const Node&, Views in, Views out) {
  evaluate_unary(in, out, [](float x) { return 1.0f / x; });
}
void evaluate_tanh(const Node&, Views in, Views out) {
  evaluate_unary(in, out, [](float x) { return std::tanh(x); });
}

// --- pow(x) {exponent}, or {base} for powers of a number

void evaluate_pow(const Node& node, Views in, Views out) {
  if (node.attributes.has("base")) {
    const auto base = static_cast<float>(node.attributes.real("base"));
    return evaluate_unary(in, out, [=](float x) { return std::pow(base, x); });
  }
  const auto exponent = static_cast<float>(node.attributes.real("exponent"));
  evaluate_unary(in, out,
                 [&](float x) { return exponent == 2.0f ? x * x : std::pow(x, exponent); });
}

// --- gelu(x) {approximate}: x times the normal distribution's integral up to x; "tanh" says by
//     which formula it is approximated, "none" takes the error function

std::vector<TensorType> infer_gelu(const Node& node, Types inputs) {
  const std::string& approximate = node.attributes.text("approximate");
  if (approximate != "tanh" && approximate != "none") {
    refuse(node, "no such approximation", "'tanh' or 'none'", approximate);
  }
  return {inputs[0]};
}

void evaluate_gelu(const Node& node, Views in, Views out) {
  if (node.attributes.text("approximate") == "none") {
    constexpr float kRoot = 1.0f / std::numbers::sqrt2_v<float>;
    return evaluate_unary(in, out, [](float x) { return x * 0.5f * (1.0f + std::erf(x * kRoot)); });
  }
  constexpr float kScale =
      std::numbers::sqrt2_v<float> * std::numbers::inv_sqrtpi_v<float>;  // sqrt(2 / pi)
  evaluate_unary(in, out, [](float x) {
    return 0.5f * x * (1.0f + std::tanh(kScale * (x + 0.044715f * x * x * x)));
  });
}

// --- max: the largest of all elements, as a scalar

std::vector<TensorType> infer_max(const Node& node, Types inputs) {
  if (elements(inputs[0].shape) == 0) refuse(node, "there are no elements");
  return {{inputs[0].dtype, {}}};
}

void evaluate_max(const Node& node, Views in, Views out) {
  with_number(node, in[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    const T* x = in[0].as<T>();
    *out[0].as<T>() = *std::max_element(x, x + elements(in[0].shape));
  });
}

// --- reductions along the last dimension

/// Rows of the last dimension: {count, width}.
std::pair<int64_t, int64_t> rows_of(const Shape& shape) {
  const int64_t width = shape.back();
  return {width == 0 ? 0 : elements(shape) / width, width};
}

void require_last(const Node& node, std::string_view attribute, const Shape& shape) {
  if (shape.empty() || dimension(node, attribute, shape.size()) + 1 != shape.size()) {
    refuse(node, "works along the last dimension only");
  }
}

std::vector<TensorType> infer_mean(const Node& node, Types inputs) {
  require_last(node, "dim", inputs[0].shape);
  TensorType type = inputs[0];
  type.shape.back() = 1;
  return {type};
}

void evaluate_mean(const Node&, Views in, Views out) {
  const auto [rows, width] = rows_of(in[0].shape);
  for (int64_t r = 0; r < rows; ++r) {
    const float* x = in[0].as<float>() + r * width;
    double sum = 0.0;
    for (int64_t i = 0; i < width; ++i) sum += x[i];
    out[0].as<float>()[r] = static_cast<float>(sum / static_cast<double>(width));
  }
}

std::vector<TensorType> infer_softmax(const Node& node, Types inputs) {
  require_last(node, "dim", inputs[0].shape);
  return {inputs[0]};
}

/// y may be x.
void softmax_row(const float* x, int64_t width, float* y) {
  const float highest = *std::max_element(x, x + width);
  double sum = 0.0;
  for (int64_t i = 0; i < width; ++i) {
    y[i] = std::exp(x[i] - highest);
    sum += y[i];
  }
  const auto total = static_cast<float>(sum);
  for (int64_t i = 0; i < width; ++i) y[i] /= total;
}

void evaluate_softmax(const Node&, Views in, Views out) {
  const auto [rows, width] = rows_of(in[0].shape);
  for (int64_t r = 0; r < rows; ++r) {
    softmax_row(in[0].as<float>() + r * width, width, out[0].as<float>() + r * width);
  }
}

// --- masked_softmax(scores [..., width], mask) {dim=-1, below}: softmax of the scores where the
//     mask, which broadcasts, is 0; elsewhere of the row's smallest score less `below`

std::vector<TensorType> infer_masked_softmax(const Node& node, Types inputs) {
  require_last(node, "dim", inputs[0].shape);
  node.attributes.real("below");
  const Shape& scores = inputs[0].shape;
  const Shape& mask = inputs[1].shape;
  if (mask.empty() || mask.back() != scores.back() || broadcast(node, scores, mask) != scores) {
    refuse(node, "the mask does not fit", to_string(scores), to_string(mask));
  }
  return {inputs[0]};
}

void evaluate_masked_softmax(const Node& node, Views in, Views out) {
  const auto below = static_cast<float>(node.attributes.real("below"));
  const int64_t width = rows_of(in[0].shape).second;
  Shape mask_strides = broadcast_strides(in[1].shape, in[0].shape);
  mask_strides.pop_back();
  const Shape rows(in[0].shape.begin(), in[0].shape.end() - 1);
  const float* x = in[0].as<float>();
  float* y = out[0].as<float>();
  for_each<1>(rows, {mask_strides}, [&](int64_t mask_row) {
    const float* mask = in[1].as<float>() + mask_row;
    const float masked = *std::min_element(x, x + width) - below;
    for (int64_t i = 0; i < width; ++i) y[i] = mask[i] == 0.0f ? x[i] : masked;
    softmax_row(y, width, y);
    x += width;
    y += width;
  });
}

// --- rms_norm(x [..., width], weight [width]) {eps}: weight * (x * rsqrt(mean(x^2) + eps)),
//     in the order of Hugging Face's LlamaRMSNorm

std::vector<TensorType> infer_rms_norm(const Node& node, Types inputs) {
  node.attributes.real("eps");
  if (inputs[0].shape.empty() || inputs[1].shape != Shape{inputs[0].shape.back()}) {
    refuse(node, "the weight does not fit", to_string(inputs[0].shape), to_string(inputs[1].shape));
  }
  return {inputs[0]};
}

void evaluate_rms_norm(const Node& node, Views in, Views out) {
  const auto [rows, width] = rows_of(in[0].shape);
  const auto eps = static_cast<float>(node.attributes.real("eps"));
  const float* weight = in[1].as<float>();
  for (int64_t r = 0; r < rows; ++r) {
    const float* x = in[0].as<float>() + r * width;
    float* y = out[0].as<float>() + r * width;
    double squares = 0.0;
    for (int64_t i = 0; i < width; ++i) squares += static_cast<double>(x[i] * x[i]);
    const auto mean = static_cast<float>(squares / static_cast<double>(width));
    const float scale = 1.0f / std::sqrt(mean + eps);
    for (int64_t i = 0; i < width; ++i) y[i] = weight[i] * (x[i] * scale);
  }
}

// --- hadamard(x [..., D]), D a power of two: every row times H / sqrt(D), H the Hadamard matrix in
//     Sylvester's order; log2(D) rounds of sums and differences (fast Walsh-Hadamard transform)

std::vector<TensorType> infer_hadamard(const Node& node, Types inputs) {
  const int64_t width = inputs[0].shape.empty() ? 0 : inputs[0].shape.back();
  if (width < 1 || (width & (width - 1)) != 0) {
    refuse(node, "rows are no power of two long", {}, to_string(inputs[0].shape));
  }
  return {inputs[0]};
}

void evaluate_hadamard(const Node&, Views in, Views out) {
  const auto [rows, width] = rows_of(in[0].shape);
  const float scale = 1.0f / std::sqrt(static_cast<float>(width));
  for (int64_t r = 0; r < rows; ++r) {
    float* y = out[0].as<float>() + r * width;
    std::copy_n(in[0].as<float>() + r * width, width, y);
    for (int64_t half = 1; half < width; half *= 2) {
      for (int64_t i = 0; i < width; ++i) {
        if ((i & half) != 0) continue;
        const float a = y[i];
        const float b = y[i + half];
        y[i] = a + b;
        y[i + half] = a - b;
      }
    }
    for (int64_t i = 0; i < width; ++i) y[i] *= scale;
  }
}

// --- requantize: the same numbers under another encoding; quantize {dtype}: float to codes,
//     dequantize: codes to float. In float nothing happens.

std::vector<TensorType> infer_quantize(const Node& node, Types inputs) {
  return {{dtype_from_name(node.attributes.text("dtype"), "lathe.quantize"), inputs[0].shape}};
}

std::vector<TensorType> infer_dequantize(const Node&, Types inputs) {
  return {{DType::f32, inputs[0].shape}};
}

void evaluate_requantize(const Node&, Views in, Views out) {
  std::copy_n(in[0].as<float>(), elements(in[0].shape), out[0].as<float>());
}

constexpr auto kOwn = EncodingRule::computes;

const OperatorRule kRules[] = {
    {Op::add, "aten.add", "add", 1, 2, kOwn, nothing, infer_binary, evaluate_add},
    {Op::add_, "aten.add_", "add_", 1, 2, EncodingRule::none, nothing, infer_binary, evaluate_add},
    {Op::cos, "aten.cos", "cos", 1, 1, kOwn, nothing, same_type, evaluate_cos},
    {Op::div, "aten.div", "div", 1, 2, kOwn, nothing, infer_div, evaluate_div},
    {Op::gelu, "aten.gelu", "gelu", 1, 1, kOwn, nothing, infer_gelu, evaluate_gelu},
    {Op::max, "aten.max", "max", 1, 1, EncodingRule::none, nothing, infer_max, evaluate_max},
    {Op::mean, "aten.mean", "mean", 1, 1, kOwn, nothing, infer_mean, evaluate_mean},
    {Op::mul, "aten.mul", "mul", 1, 2, kOwn, nothing, infer_binary, evaluate_mul},
    {Op::neg, "aten.neg", "neg", 1, 1, kOwn, nothing, same_type, evaluate_neg},
    {Op::pow, "aten.pow", "pow", 1, 1, kOwn, nothing, same_type, evaluate_pow},
    {Op::reciprocal, "aten.reciprocal", "reciprocal", 1, 1, kOwn, nothing, same_type,
     evaluate_reciprocal},
    {Op::rsqrt, "aten.rsqrt", "rsqrt", 1, 1, kOwn, nothing, same_type, evaluate_rsqrt},
    {Op::sigmoid, "aten.sigmoid", "sigmoid", 1, 1, EncodingRule::unit, nothing, same_type,
     evaluate_sigmoid},
    {Op::silu, "aten.silu", "silu", 1, 1, kOwn, nothing, same_type, evaluate_silu},
    {Op::sin, "aten.sin", "sin", 1, 1, kOwn, nothing, same_type, evaluate_sin},
    {Op::softmax, "aten.softmax", "softmax", 1, 1, EncodingRule::unit, nothing, infer_softmax,
     evaluate_softmax},
    {Op::sub, "aten.sub", "sub", 1, 2, kOwn, nothing, infer_binary, evaluate_sub},
    {Op::tanh, "aten.tanh", "tanh", 1, 1, kOwn, nothing, same_type, evaluate_tanh},
    {Op::dequantize, "lathe.dequantize", "dequantize", 1, 1, EncodingRule::none, nothing,
     infer_dequantize, evaluate_requantize},
    {Op::hadamard, "lathe.hadamard", "hadamard", 1, 1, kOwn, nothing, infer_hadamard,
     evaluate_hadamard},
    {Op::masked_softmax, "lathe.masked_softmax", "masked_softmax", 2, 2, EncodingRule::unit,
     nothing, infer_masked_softmax, evaluate_masked_softmax},
    {Op::quantize, "lathe.quantize", "quantize", 1, 1, kOwn, nothing, infer_quantize,
     evaluate_requantize},
    {Op::requantize, "lathe.requantize", "requantize", 1, 1, kOwn, nothing, same_type,
     evaluate_requantize},
    {Op::rms_norm, "lathe.rms_norm", "rms_norm", 2, 2, kOwn, nothing, infer_rms_norm,
     evaluate_rms_norm},
};

}  // namespace

std::span<const OperatorRule> arithmetic() { return kRules; }

}  // namespace lathe::rules
