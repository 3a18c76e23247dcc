#include "executors/reference/integer.h"

#include <algorithm>
#include <vector>

#include "executors/reference/codes.h"
#include "graph/operators.h"
#include "graph/packed_int4.h"
#include "graph/packed_weights.h"
#include "graph/stored_bytes.h"

namespace lathe {
namespace {

bool moves_elements(const Graph& graph, const Node& node) {
  // An integer that becomes a real number gets its codes here.
  if (node.op == Op::to) {
    return graph.value(node.inputs[0]).encoding || !graph.value(node.output()).encoding;
  }
  return is_movement(node.op);
}

bool is_activation(const Value& value) {
  return value.encoding && !value.encoding->per_channel() &&
         (value.dtype == DType::u16 || value.dtype == DType::u8);
}

bool is_weight(const Value& value) {
  const bool codes =
      value.dtype == DType::i8 || value.dtype == DType::i4 || value.dtype == DType::i16;
  return value.encoding && codes && value.encoding->zero_point == 0 && value.encoding->axis <= 0;
}

/// code - zero_point of every element: what integer products work with.
std::vector<int32_t> centred(const TensorView& codes, const Encoding& encoding) {
  std::vector<int32_t> out(static_cast<size_t>(elements(codes.shape)));
  for (size_t i = 0; i < out.size(); ++i) {
    const int32_t code =
        codes.dtype == DType::u16 ? codes.as<uint16_t>()[i] : codes.as<uint8_t>()[i];
    out[i] = code - encoding.zero_point;
  }
  return out;
}

void store(const TensorView& out, int64_t index, int32_t code) {
  if (out.dtype == DType::u16) {
    out.as<uint16_t>()[index] = static_cast<uint16_t>(code);
  } else {
    out.as<uint8_t>()[index] = static_cast<uint8_t>(code);
  }
}

double scale_of_channel(const Encoding& encoding, int64_t channel) {
  return encoding.scale[encoding.per_channel() ? static_cast<size_t>(channel) : 0];
}

/// Where the numbers of a product lie: row r, column k at rows(r) + k * step.
struct ProductLayout {
  int64_t places;    // rows that lie side by side: 1 for linear, H * W for conv2d
  int64_t width;     // K
  int64_t channels;  // N

  int64_t in(int64_t row, int64_t k) const {
    return row / places * width * places + k * places + row % places;
  }
  int64_t out(int64_t row, int64_t channel) const {
    return row / places * channels * places + channel * places + row % places;
  }
};

/// What the weights [N, K] of `count` channels from `first` on (a multiple of 16, count at most 16)
/// count for in the sum, as [count, K]: their codes, or code * factor where they lie in blocks.
std::vector<int16_t> read_channels(const Value& weight, const TensorView& view, int64_t first,
                                   int64_t count) {
  const int64_t width = weight.shape[1];  // K
  const auto size = static_cast<size_t>(count * width);
  if (weight.dtype == DType::i16) {
    const int16_t* rows = view.as<int16_t>() + first * width;
    return {rows, rows + size};
  }
  const int64_t group = first / kPackedChannels;
  std::vector<int8_t> unpacked(size);
  const int8_t* codes = unpacked.data();
  if (weight.dtype == DType::i4) {
    const Int4Matrix matrix = int4_matrix(weight);
    const auto group_bytes = static_cast<int64_t>(int4_group_bytes(matrix));
    unpack_int4_group(view.data + group * group_bytes, count, matrix, unpacked.data());
  } else if (weight.constant != nullptr && weight.constant->layout == Layout::packed) {
    const auto group_bytes = static_cast<int64_t>(packed_weights_bytes(kPackedChannels, width));
    unpack_weights(view.as<int8_t>() + group * group_bytes, count, width, unpacked.data());
  } else {
    codes = view.as<int8_t>() + first * width;
  }
  return {codes, codes + size};
}

/// linear: x [rows, K] codes -> [rows, N] codes; conv2d: x [B, K, H, W] -> [B, N, H, W]. Weight
/// [N, K] of i8, i4 or i16, bias [N] i32 or none.
void evaluate_product(const Graph& graph, const Node& node, std::span<const TensorView> in,
                      const TensorView& out) {
  const Value& weight = graph.value(node.inputs[1]);
  const Encoding& x_encoding = *graph.value(node.inputs[0]).encoding;
  const Encoding& y_encoding = *graph.value(node.output()).encoding;
  const int64_t channels = weight.shape[0];  // N
  const int64_t width = weight.shape[1];     // K
  const int64_t rows = elements(in[0].shape) / width;
  const ProductLayout layout{node.op == Op::conv2d ? in[0].shape[2] * in[0].shape[3] : 1, width,
                             channels};
  const CodeRange range = code_range(out.dtype);

  const std::vector<int32_t> x = centred(in[0], x_encoding);
  for (int64_t first = 0; first < channels; first += kPackedChannels) {
    const int64_t count = std::min(kPackedChannels, channels - first);
    const std::vector<int16_t> w = read_channels(weight, in[1], first, count);  // [count, K]
    for (int64_t c = 0; c < count; ++c) {
      const int64_t channel = first + c;
      const double multiplier = static_cast<double>(x_encoding.scale[0]) *
                                scale_of_channel(*weight.encoding, channel) /
                                static_cast<double>(y_encoding.scale[0]);
      const int64_t bias = in.size() == 3 ? in[2].as<int32_t>()[channel] : 0;
      for (int64_t r = 0; r < rows; ++r) {
        int64_t sum = bias;
        for (int64_t k = 0; k < width; ++k) {
          sum += static_cast<int64_t>(x[static_cast<size_t>(layout.in(r, k))]) *
                 w[static_cast<size_t>(c * width + k)];
        }
        store(out, layout.out(r, channel), rescale(sum, multiplier, y_encoding.zero_point, range));
      }
    }
  }
}

/// a [..., M, K] codes, b [..., K, N] codes -> [..., M, N] codes.
void evaluate_matmul(const Graph& graph, const Node& node, std::span<const TensorView> in,
                     const TensorView& out) {
  const Encoding& a_encoding = *graph.value(node.inputs[0]).encoding;
  const Encoding& b_encoding = *graph.value(node.inputs[1]).encoding;
  const Encoding& y_encoding = *graph.value(node.output()).encoding;
  const double multiplier = static_cast<double>(a_encoding.scale[0]) *
                            static_cast<double>(b_encoding.scale[0]) /
                            static_cast<double>(y_encoding.scale[0]);
  const CodeRange range = code_range(out.dtype);
  const size_t rank = in[0].shape.size();
  const int64_t m = in[0].shape[rank - 2];
  const int64_t depth = in[0].shape[rank - 1];
  const int64_t n = in[1].shape[rank - 1];
  const int64_t matrices = m * n == 0 ? 0 : elements(out.shape) / (m * n);

  const std::vector<int32_t> a = centred(in[0], a_encoding);
  const std::vector<int32_t> b = centred(in[1], b_encoding);
  std::vector<int64_t> sums(static_cast<size_t>(n));
  for (int64_t matrix = 0; matrix < matrices; ++matrix) {
    for (int64_t i = 0; i < m; ++i) {
      const int32_t* a_row = a.data() + (matrix * m + i) * depth;
      std::fill(sums.begin(), sums.end(), 0);
      for (int64_t k = 0; k < depth; ++k) {
        const int32_t* b_row = b.data() + (matrix * depth + k) * n;
        for (int64_t j = 0; j < n; ++j) {
          sums[static_cast<size_t>(j)] += static_cast<int64_t>(a_row[k]) * b_row[j];
        }
      }
      for (int64_t j = 0; j < n; ++j) {
        store(out, (matrix * m + i) * n + j,
              rescale(sums[static_cast<size_t>(j)], multiplier, y_encoding.zero_point, range));
      }
    }
  }
}

void evaluate_on_reals(const Graph& graph, const Node& node, std::span<const TensorView> inputs,
                       const TensorView& output) {
  std::vector<std::vector<float>> reals(inputs.size());
  std::vector<TensorView> views(inputs.begin(), inputs.end());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::optional<Encoding>& encoding = graph.value(node.inputs[i]).encoding;
    if (!encoding) continue;
    reals[i].resize(static_cast<size_t>(elements(inputs[i].shape)));
    dequantize(inputs[i], *encoding, reals[i].data());
    views[i] = dense_view(DType::f32, inputs[i].shape, reals[i].data());
  }
  const std::optional<Encoding>& encoding = graph.value(node.output()).encoding;
  if (!encoding) {
    rule_of(node.op).evaluate(node, views, std::span(&output, 1));
    return;
  }
  std::vector<float> result(static_cast<size_t>(elements(output.shape)));
  const TensorView view = dense_view(DType::f32, output.shape, result.data());
  rule_of(node.op).evaluate(node, views, std::span(&view, 1));
  quantize(result.data(), *encoding, output);
}

}  // namespace

bool computes_on_codes(const Graph& graph, const Node& node) {
  if (moves_elements(graph, node)) return false;
  const auto coded = [&](ValueId id) { return graph.value(id).encoding.has_value(); };
  return std::any_of(node.inputs.begin(), node.inputs.end(), coded) || coded(node.output());
}

bool is_integer_product(const Graph& graph, const Node& node) {
  if (node.op != Op::linear && node.op != Op::conv2d) return false;
  const bool bias_fits = node.inputs.size() < 3 || graph.value(node.inputs[2]).dtype == DType::i32;
  return bias_fits && is_activation(graph.value(node.inputs[0])) &&
         is_weight(graph.value(node.inputs[1])) && is_activation(graph.value(node.output()));
}

bool is_integer_matmul(const Graph& graph, const Node& node) {
  return node.op == Op::matmul && is_activation(graph.value(node.inputs[0])) &&
         is_activation(graph.value(node.inputs[1])) && is_activation(graph.value(node.output()));
}

void evaluate_on_codes(const Graph& graph, const Node& node, std::span<const TensorView> inputs,
                       std::span<const TensorView> outputs) {
  if (is_integer_product(graph, node)) {
    evaluate_product(graph, node, inputs, outputs[0]);
  } else if (is_integer_matmul(graph, node)) {
    evaluate_matmul(graph, node, inputs, outputs[0]);
  } else {
    evaluate_on_reals(graph, node, inputs, outputs[0]);
  }
}

}  // namespace lathe
