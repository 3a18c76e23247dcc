#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "executors/cpu/lowering/nodes.h"
#include "executors/cpu/steps/linear_step.h"
#include "executors/cpu/values.h"
#include "executors/reference/integer.h"
#include "graph/packed_int4.h"
#include "graph/packed_weights.h"
#include "graph/stored_bytes.h"

namespace lathe {
namespace {

constexpr int64_t kMaxDepth = int64_t{1} << 23;  // LinearArgs::k

/// The strides of [B, C, H, W] over row-major memory [B, H, W, C].
Shape channels_last(const Shape& shape) {
  const int64_t c = shape[1];
  const int64_t w = shape[3];
  return {c * shape[2] * w, 1, c * w, c};
}

bool fits_linear_step(const PlanBuilder& plan, const Node& node) {
  if (!is_integer_product(*plan.graph(), node)) return false;
  const Value& x = plan.value(node.inputs[0]);
  const Value& weight = plan.value(node.inputs[1]);
  const bool constants = std::all_of(node.inputs.begin() + 1, node.inputs.end(),
                                     [&](ValueId id) { return plan.value(id).is_constant(); });
  return constants && weight.constant->layout == Layout::packed && weight.shape[0] > 0 &&
         weight.shape[1] <= kMaxDepth && elements(x.shape) > 0;
}

/// The rows that a product multiplies, of K elements side by side each: copied together where they
/// are not.
LinearStep::Input input_rows(PlanBuilder& plan, const Node& node) {
  const ValueId id = node.inputs[0];
  const Value& x = plan.value(id);
  const int64_t k = plan.value(node.inputs[1]).shape[1];
  const int64_t rows = elements(x.shape) / k;
  const int32_t zero_point = x.encoding->zero_point;
  const bool bytes = x.dtype == DType::u8;
  if (node.op == Op::linear) {
    const Place in = plan.dense(id);
    return {in.buffer, in.offset, k, rows, k, bytes, zero_point};
  }
  const Shape& s = x.shape;  // [B, K, H, W]
  const Shape pixels{s[0], s[2], s[3]};
  Place in = plan.place(id);
  const auto row_strides = [&] {
    const Shape& strides = in.strides;
    return k > 1 && strides[1] != 1
               ? std::nullopt
               : reshape_strides(pixels, {strides[0], strides[2], strides[3]}, {rows});
  };
  std::optional<Shape> found = row_strides();
  if (!found) {
    in = plan.in_order(id, channels_last(s));
    found = row_strides();
  }
  return {in.buffer, in.offset, rows == 1 ? k : found->front(), rows, k, bytes, zero_point};
}

/// Where the step finds weights and their sums, in the constant that they are.
void read_weights(PlanBuilder& plan, ValueId id, LinearStep::Output& output) {
  const Value& weight = plan.value(id);
  const std::byte* bytes = plan.constant_data(id);
  output.channels = weight.shape[0];
  output.weights = plan.constant_buffer(id);
  if (weight.dtype == DType::i4) {
    const Int4Matrix matrix = int4_matrix(weight);
    output.weight_sums = int4_sums(bytes, matrix);
    output.int4 =
        LinearStep::Int4Layout{static_cast<int64_t>(int4_group_bytes(matrix)), matrix.block};
  } else {
    output.weight_sums = packed_weight_sums(reinterpret_cast<const int8_t*>(bytes), output.channels,
                                            weight.shape[1]);
  }
}

// Products give 16-bit codes. Where bytes are wanted, they become bytes behind it: the same
// numbers, as an encoding of scale 1 and zero point 0 has them.
constexpr Affine kCodes{1.0f, 0};

/// The 16-bit codes `wide`, none above 255, as bytes.
void emit_narrow(PlanBuilder& plan, BufferId wide, BufferId bytes, int64_t count) {
  const auto range = [=](const Frame& frame, int64_t begin, int64_t end) {
    frame.kernels->requantize_u16_u8(frame.at<uint16_t>(wide, begin),
                                     frame.at<uint8_t>(bytes, begin), end - begin, kCodes, kCodes);
  };
  plan.emit(std::make_unique<ElementwiseStep>(
                "narrow", std::vector<ElementwiseStep::Operand>{{wide, 0}}, bytes, count, range),
            {wide, bytes});
}

/// s_x * s_w / s_y of every output channel.
std::vector<double> multipliers(const Encoding& x, const Value& weight, const Encoding& y) {
  const std::vector<float>& scales = weight.encoding->scale;
  const auto channels = static_cast<size_t>(weight.shape[0]);
  std::vector<double> result(channels);
  for (size_t c = 0; c < channels; ++c) {
    const double scale = scales[weight.encoding->per_channel() ? c : 0];
    result[c] = static_cast<double>(x.scale[0]) * scale / static_cast<double>(y.scale[0]);
  }
  return result;
}

/// Projections of the same input become one step, the first one's: a later one needs nothing that
/// was computed in between. But for one that only an output reads: that is skipped where the output
/// is unbound.
void multiply(PlanBuilder& plan, const Node& node, const LinearStep::Input& input,
              LinearStep::Output output, bool output_only) {
  const BufferId written = output.y;
  std::vector<Access> accesses{written};
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    accesses.emplace_back(plan.constant_buffer(node.inputs[i]));
  }
  int& number = plan.product_step(input.buffer);
  if (number >= 0 && !output_only) {
    auto* open = static_cast<LinearStep*>(plan.step(number));
    if (open->input() == input) {
      open->add(std::move(output));
      plan.extend_step(number, accesses);
      return;
    }
  }
  const BufferId prepared =
      plan.new_buffer(Buffer::Kind::scratch,
                      (input.rows == 1 ? plan.threads() : input.rows) * prepared_bytes(input.k));
  const BufferId expanded =
      plan.new_buffer(Buffer::Kind::scratch, plan.threads() * int4_scratch_bytes(input.k));
  auto step = std::make_unique<LinearStep>(input, prepared, expanded);
  step->add(std::move(output));
  accesses.insert(accesses.end(), {input.buffer, prepared, expanded});
  plan.emit(std::move(step), std::move(accesses), output_only ? written : -1);
  if (!output_only) number = plan.last_step();
}

}  // namespace

bool lower_linear(PlanBuilder& plan, const Node& node) {
  const bool product = node.op == Op::linear || node.op == Op::conv2d;
  if (!product || !fits_linear_step(plan, node)) return false;
  const Value& x = plan.value(node.inputs[0]);
  const Value& weight = plan.value(node.inputs[1]);
  const Value& y = plan.value(node.output());
  const LinearStep::Input input = input_rows(plan, node);
  LinearStep::Output output;
  read_weights(plan, node.inputs[1], output);
  if (node.inputs.size() == 3) {
    output.bias = reinterpret_cast<const int32_t*>(plan.constant_data(node.inputs[2]));
  }
  output.multiplier = multipliers(*x.encoding, weight, *y.encoding);
  output.zero_point = y.encoding->zero_point;
  output.largest = code_range(y.dtype).high;
  const Place result = plan.reserve(
      node.output(), node.op == Op::linear ? dense_strides(y.shape) : channels_last(y.shape));
  const bool bytes = y.dtype == DType::u8;
  output.y =
      bytes ? plan.new_buffer(Buffer::Kind::arena, byte_size(DType::u16, y.shape)) : result.buffer;
  const BufferId wide = output.y;
  multiply(plan, node, input, std::move(output),
           plan.only_output(node.output()) == result.buffer && !bytes);
  if (bytes) emit_narrow(plan, wide, result.buffer, elements(y.shape));
  plan.define_at(node.output(), result);
  return true;
}

}  // namespace lathe
