#include "executors/ort/onnx_operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "graph/operators.h"
#include "support/error.h"

namespace lathe {
namespace {

[[noreturn]] void refuse(const OnnxNode& node, std::string_view what) {
  fail({.what = fmt::format("{} {}", rule_of(node.node().op).name, what),
        .where = node.name(),
        .advice = "export the model as it is compiled by default"});
}

// --- numbers that nodes have as attributes

/// One number as codes like those of `like`: exact to the precision of the scale, since the range
/// from 0 to the number is all there is.
OnnxTensor code_of(OnnxNode& node, double number, const OnnxTensor& like) {
  const DType dtype = like.dtype;
  const auto highest = static_cast<uint16_t>(code_range(dtype).high);
  const float scale = number == 0.0 ? 1.0f : static_cast<float>(std::abs(number) / highest);
  const Encoding encoding{dtype, {scale}, number < 0 ? highest : 0, -1};
  const uint16_t code = number > 0 ? highest : 0;
  return node.onnx().shared(
      fmt::format("{} {}", name_of(dtype), number), dtype, {},
      std::as_bytes(std::span(&code, 1)).first(static_cast<size_t>(bits_of(dtype)) / 8), encoding);
}

/// The attribute `name` as the second operand of an operator on the first input: like the result,
/// or, where that is a condition, like the input that it is compared with.
OnnxTensor operand(OnnxNode& node, std::string_view name) {
  const double number = node.attributes().real(name);
  const OnnxTensor& like = node.result().dtype == DType::boolean ? node.input(0) : node.result();
  if (like.encoding) return code_of(node, number, like);
  const auto integer = static_cast<int64_t>(number);
  const auto narrow = static_cast<int32_t>(integer);
  const auto shared = [&](std::span<const std::byte> bytes) {
    return node.onnx().shared(fmt::format("{} {}", name_of(like.dtype), integer), like.dtype, {},
                              bytes);
  };
  if (like.dtype == DType::i64) return shared(std::as_bytes(std::span(&integer, 1)));
  if (like.dtype == DType::i32) return shared(std::as_bytes(std::span(&narrow, 1)));
  refuse(node,
         fmt::format("computes {}, which is neither codes nor integers", name_of(like.dtype)));
}

// --- one operator of ONNX

template <const char* kType>
void elementwise(OnnxNode& node) {
  std::vector<OnnxTensor> inputs = node.inputs();
  if (node.attributes().has("other")) inputs.push_back(operand(node, "other"));
  node.apply(kType, inputs);
}

constexpr char kAdd[] = "Add";
constexpr char kAnd[] = "And";
constexpr char kCos[] = "Cos";
constexpr char kDiv[] = "Div";
constexpr char kGreater[] = "Greater";
constexpr char kLess[] = "LessOrEqual";
constexpr char kMatMul[] = "MatMul";
constexpr char kMul[] = "Mul";
constexpr char kNeg[] = "Neg";
constexpr char kSigmoid[] = "Sigmoid";
constexpr char kSin[] = "Sin";
constexpr char kSub[] = "Sub";
constexpr char kTanh[] = "Tanh";

void gelu(OnnxNode& node) {
  node.apply("Gelu", node.inputs(), {{"approximate", node.attributes().text("approximate")}});
}

void softmax(OnnxNode& node) { node.apply("Softmax", node.inputs(), {{"axis", int64_t{-1}}}); }

/// softmax(scores + mask), where the sum stops `below` under the lowest number that scores have: a
/// masked place counts for nothing there, as it does that far under the lowest score of its row.
void masked_softmax(OnnxNode& node) {
  const OnnxTensor& scores = node.input(0);
  if (!scores.encoding) refuse(node, "reads scores that are no codes");
  const Encoding& encoding = *scores.encoding;
  const CodeRange range = code_range(encoding.dtype);
  const double below = node.attributes().real("below");
  const double scale = encoding.scale.front();
  const double low = (range.low - encoding.zero_point) * scale - below;
  const double high = (range.high - encoding.zero_point) * scale;
  const auto wider = static_cast<float>((high - low) / (range.high - range.low));
  OnnxTensor masked = node.step("masked", scores, scores.shape);
  masked.encoding = {encoding.dtype, {wider}, static_cast<int32_t>(std::lround(-low / wider)), -1};
  node.apply("Add", node.inputs(), {}, masked);
  node.apply("Softmax", {masked}, {{"axis", int64_t{-1}}});
}

void rms_norm(OnnxNode& node) {
  node.apply(
      "RMSNormalization", node.inputs(),
      {{"axis", int64_t{-1}}, {"epsilon", static_cast<float>(node.attributes().real("eps"))}});
}

void mean(OnnxNode& node) {
  node.apply("ReduceMean", {node.input(0), node.onnx().integers({-1})}, {{"keepdims", int64_t{1}}});
}

/// Of all elements.
void largest(OnnxNode& node) { node.apply("ReduceMax", node.inputs(), {{"keepdims", int64_t{0}}}); }

void power(OnnxNode& node) { node.apply("Pow", {node.input(0), operand(node, "exponent")}); }

void rsqrt(OnnxNode& node) {
  node.apply("Pow", {node.input(0), code_of(node, -0.5, node.result())});
}

void where(OnnxNode& node) {
  std::vector<OnnxTensor> inputs = node.inputs();
  if (inputs.size() < 3) inputs.push_back(operand(node, "other"));
  node.apply("Where", inputs);
}

// --- movement

void concat(OnnxNode& node) {
  node.apply("Concat", node.inputs(), {{"axis", node.dimension("dim", node.result().shape)}});
}

void embedding(OnnxNode& node) { node.apply("Gather", node.inputs(), {{"axis", int64_t{0}}}); }

void expand(OnnxNode& node) {
  node.apply("Expand", {node.input(0), node.onnx().integers(node.result().shape)});
}

void reshape(OnnxNode& node) { node.reshape(node.input(0), node.result()); }

void permute(OnnxNode& node) {
  node.apply("Transpose", {node.input(0)}, {{"perm", node.attributes().integers("dims")}});
}

void transpose(OnnxNode& node) {
  const Shape& shape = node.input(0).shape;
  std::vector<int64_t> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[static_cast<size_t>(node.dimension("dim0", shape))],
            order[static_cast<size_t>(node.dimension("dim1", shape))]);
  node.apply("Transpose", {node.input(0)}, {{"perm", order}});
}

/// Every `step`-th element from `start` on, as many as `to` has.
void slice(OnnxNode& node, int64_t dim, int64_t start, int64_t step, const OnnxTensor& to) {
  OnnxGraph& onnx = node.onnx();
  const int64_t end = start + (to.shape[static_cast<size_t>(dim)] - 1) * step + 1;
  std::vector<OnnxTensor> inputs{node.input(0), onnx.integers({start}), onnx.integers({end}),
                                 onnx.integers({dim})};
  if (step != 1) inputs.push_back(onnx.integers({step}));
  node.apply("Slice", inputs, {}, to);
}

void slice(OnnxNode& node) {
  const int64_t dim = node.dimension("dim", node.input(0).shape);
  slice(node, dim, node.attributes().integer("start"), slice_step(node.node()), node.result());
}

/// Nothing by itself: each getitem behind it takes its own part.
void chunk(OnnxNode& node) { node.set_result(node.input(0)); }

/// One of the equal parts of what a chunk cuts.
void getitem(OnnxNode& node) {
  const Shape& whole = node.input(0).shape;
  const Shape& part = node.result().shape;
  const auto at = std::mismatch(part.begin(), part.end(), whole.begin(), whole.end());
  const auto dim = std::min<int64_t>(at.first - part.begin(), std::ssize(part) - 1);
  const int64_t size = part[static_cast<size_t>(dim)];
  const int64_t start = node.attributes().integer("index") * size;
  slice(node, dim, start, 1, node.result());
}

void select(OnnxNode& node) {
  Shape shape = node.input(0).shape;
  const int64_t dim = node.dimension("dim", shape);
  const int64_t index = node.attributes().integer("index");
  shape[static_cast<size_t>(dim)] = 1;
  const OnnxTensor one = node.step("slice", node.result(), shape);
  slice(node, dim, index, 1, one);
  node.reshape(one, node.result());
}

/// Rows `index` of a dimension are replaced.
void index_copy(OnnxNode& node) {
  const int64_t dim = node.dimension("dim", node.result().shape);
  const OnnxTensor& index = node.input(1);
  Shape shape(node.result().shape.size(), 1);
  shape[static_cast<size_t>(dim)] = index.shape.empty() ? 1 : index.shape[0];
  const OnnxTensor aligned = node.step("index", index, shape);
  node.reshape(index, aligned);
  const OnnxTensor every = node.step("indices", index, node.input(2).shape);
  node.apply("Expand", {aligned, node.onnx().integers(every.shape)}, {}, every);
  node.apply("ScatterElements", {node.input(0), every, node.input(2)}, {{"axis", dim}});
}

void cast(OnnxNode& node) {
  const bool real = node.result().encoding.has_value();
  const auto type = real ? onnx::TensorProto::FLOAT : onnx_type(node.result().dtype);
  node.apply("Cast", {node.input(0)}, {{"to", int64_t{type}}});
}

void requantize(OnnxNode& node) { node.apply("", {node.input(0)}); }

// --- making

void arange(OnnxNode& node) {
  std::vector<int64_t> numbers(static_cast<size_t>(node.result().shape[0]));
  std::iota(numbers.begin(), numbers.end(), 0);
  node.set_result(node.onnx().integers(numbers));
}

void new_ones(OnnxNode& node) {
  const OnnxTensor& like = node.result();
  if (like.dtype != DType::boolean) refuse(node, "makes no conditions");
  const std::vector<std::byte> ones(static_cast<size_t>(elements(like.shape)), std::byte{1});
  node.set_result(
      node.onnx().shared("ones " + to_string(like.shape), like.dtype, like.shape, ones));
}

void zeros(OnnxNode& node) {
  const OnnxTensor& like = node.result();
  if (!like.encoding) refuse(node, "makes no codes");
  // u16 or u8: the low byte of the zero point comes first.
  const auto zero = static_cast<uint16_t>(like.encoding->zero_point);
  const auto width = static_cast<size_t>(bits_of(like.dtype)) / 8;
  std::vector<std::byte> codes;
  for (int64_t i = 0; i < elements(like.shape); ++i) {
    const auto code = std::as_bytes(std::span(&zero, 1)).first(width);
    codes.insert(codes.end(), code.begin(), code.end());
  }
  node.set_result(node.onnx().shared(node.name(), like.dtype, like.shape, codes, like.encoding));
}

// --- products

void convolve(OnnxNode& node, const OnnxTensor& x, const OnnxTensor& to) {
  const Shape& weight = node.input(1).shape;
  std::vector<OnnxTensor> inputs{x, node.constant(1, {weight[0], weight[1], 1, 1})};
  if (node.node().inputs.size() > 2) inputs.push_back(node.constant(2, node.input(2).shape));
  node.apply("Conv", inputs, {}, to);
}

void conv2d(OnnxNode& node) { convolve(node, node.input(0), node.result()); }

/// x [..., K] as [rows, K, 1, 1]: a 1x1 convolution keeps 16 bits where an NPU's matrix product of
/// them with constants does not.
void linear(OnnxNode& node) {
  const Shape& weight = node.input(1).shape;
  const int64_t rows = elements(node.result().shape) / weight[0];
  const OnnxTensor x = node.step("rows", node.input(0), {rows, weight[1], 1, 1});
  node.reshape(node.input(0), x);
  const OnnxTensor y = node.step("product", node.result(), {rows, weight[0], 1, 1});
  convolve(node, x, y);
  node.reshape(y, node.result());
}

/// The Hadamard matrix in Sylvester's order over sqrt(D). Its codes are as far from zero as codes
/// can be: with 1 and -1, Qualcomm's HTP loses the last bits of 16-bit activations.
OnnxTensor hadamard_matrix(OnnxNode& node, int64_t width) {
  constexpr int8_t kOne = 127;
  std::vector<int8_t> codes(static_cast<size_t>(width * width));
  for (int64_t i = 0; i < width * width; ++i) {
    const bool odd = std::popcount(static_cast<uint64_t>(i / width & i % width)) % 2 != 0;
    codes[static_cast<size_t>(i)] = odd ? -kOne : kOne;
  }
  const auto scale = static_cast<float>(1.0 / (kOne * std::sqrt(static_cast<double>(width))));
  return node.onnx().shared(fmt::format("hadamard {}", width), DType::i8, {width, width, 1, 1},
                            std::as_bytes(std::span(codes)), Encoding{DType::i8, {scale}, 0, -1});
}

/// A 1x1 convolution over [1, D, 1, rows].
void hadamard(OnnxNode& node) {
  const int64_t width = node.input(0).shape.back();
  const int64_t rows = elements(node.input(0).shape) / width;
  const OnnxTensor& x = node.input(0);
  const OnnxTensor x_rows = node.step("rows", x, {1, 1, rows, width});
  node.reshape(x, x_rows);
  const OnnxTensor channels = node.step("channels", x, {1, width, 1, rows});
  node.apply("Transpose", {x_rows}, {{"perm", std::vector<int64_t>{0, 3, 1, 2}}}, channels);
  const OnnxTensor product = node.step("product", node.result(), channels.shape);
  node.apply("Conv", {channels, hadamard_matrix(node, width)}, {}, product);
  const OnnxTensor y_rows = node.step("turned", node.result(), x_rows.shape);
  node.apply("Transpose", {product}, {{"perm", std::vector<int64_t>{0, 2, 3, 1}}}, y_rows);
  node.reshape(y_rows, node.result());
}

}  // namespace

void write_operator(OnnxNode& node) {
  switch (node.node().op) {
    case Op::add:
      return elementwise<kAdd>(node);
    case Op::and_:
      return elementwise<kAnd>(node);
    case Op::arange:
      return arange(node);
    case Op::cat:
      return concat(node);
    case Op::chunk:
      return chunk(node);
    case Op::conv2d:
      return conv2d(node);
    case Op::cos:
      return elementwise<kCos>(node);
    case Op::div:
      return elementwise<kDiv>(node);
    case Op::embedding:
      return embedding(node);
    case Op::expand:
      return expand(node);
    case Op::gelu:
      return gelu(node);
    case Op::getitem:
      return getitem(node);
    case Op::gt:
      return elementwise<kGreater>(node);
    case Op::hadamard:
      return hadamard(node);
    case Op::index_copy_:
      return index_copy(node);
    case Op::le:
      return elementwise<kLess>(node);
    case Op::linear:
      return linear(node);
    case Op::masked_softmax:
      return masked_softmax(node);
    case Op::matmul:
      return elementwise<kMatMul>(node);
    case Op::max:
      return largest(node);
    case Op::mean:
      return mean(node);
    case Op::mul:
      return elementwise<kMul>(node);
    case Op::neg:
      return elementwise<kNeg>(node);
    case Op::new_ones:
      return new_ones(node);
    case Op::permute:
      return permute(node);
    case Op::pow:
      return power(node);
    case Op::requantize:
      return requantize(node);
    case Op::reshape:
    case Op::unsqueeze:
    case Op::view:
      return reshape(node);
    case Op::rms_norm:
      return rms_norm(node);
    case Op::rsqrt:
      return rsqrt(node);
    case Op::select:
      return select(node);
    case Op::sigmoid:
      return elementwise<kSigmoid>(node);
    case Op::sin:
      return elementwise<kSin>(node);
    case Op::slice:
      return slice(node);
    case Op::softmax:
      return softmax(node);
    case Op::sub:
      return elementwise<kSub>(node);
    case Op::tanh:
      return elementwise<kTanh>(node);
    case Op::to:
      return cast(node);
    case Op::transpose:
      return transpose(node);
    case Op::where:
      return where(node);
    case Op::zeros:
      return zeros(node);
    default:
      refuse(node, "has no operator of ONNX");
  }
}

}  // namespace lathe
