#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "executors/cpu/lowering/nodes.h"
#include "executors/cpu/steps/linear_step.h"
#include "executors/cpu/values.h"
#include "executors/reference/integer.h"
#include "graph/packed_weights.h"

namespace lathe {
namespace {

constexpr int64_t kMaxDepth = int64_t{1} << 23;  // LinearArgs::k

bool fits_linear_step(const PlanBuilder& plan, const Node& node) {
  if (!is_integer_linear(*plan.graph(), node)) return false;
  const Value& x = plan.value(node.inputs[0]);
  const Value& weight = plan.value(node.inputs[1]);
  const bool constants = std::all_of(node.inputs.begin() + 1, node.inputs.end(),
                                     [&](ValueId id) { return plan.value(id).is_constant(); });
  return constants && weight.constant->layout == Layout::packed && weight.shape[0] > 0 &&
         weight.shape[1] <= kMaxDepth && elements(x.shape) > 0 && x.dtype == DType::u16 &&
         plan.value(node.output()).dtype == DType::u16;
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

}  // namespace

bool lower_linear(PlanBuilder& plan, const Node& node) {
  if (node.op != Op::linear || !fits_linear_step(plan, node)) return false;
  const Value& x = plan.value(node.inputs[0]);
  const Value& weight = plan.value(node.inputs[1]);
  const Value& y = plan.value(node.output());
  const Place in = plan.dense(node.inputs[0]);
  const LinearStep::Input input{in.buffer,          in.offset,          row_width(x.shape),
                                row_count(x.shape), row_width(x.shape), x.encoding->zero_point};
  LinearStep::Output output;
  output.channels = weight.shape[0];
  output.weights = plan.place(node.inputs[1]).buffer;
  output.weight_sums =
      packed_weight_sums(reinterpret_cast<const int8_t*>(plan.constant_data(node.inputs[1])),
                         output.channels, input.k);
  if (node.inputs.size() == 3) {
    output.bias = reinterpret_cast<const int32_t*>(plan.constant_data(node.inputs[2]));
  }
  output.multiplier = multipliers(*x.encoding, weight, *y.encoding);
  output.zero_point = y.encoding->zero_point;
  output.y = plan.define(node.output());
  const BufferId written = output.y;
  const BufferId only_for = plan.only_an_output(node.output()) ? written : -1;

  // Projections of the same input that follow each other become one step.
  auto* open = dynamic_cast<LinearStep*>(plan.last_step());
  if (open != nullptr && only_for < 0 && open->input() == input) {
    open->add(std::move(output));
    plan.extend_last_step(written);
    return true;
  }
  const BufferId prepared =
      plan.new_buffer(Buffer::Kind::scratch, input.rows * prepared_bytes(input.k));
  auto step = std::make_unique<LinearStep>(input, prepared);
  step->add(std::move(output));
  plan.emit(std::move(step), {input.buffer, prepared, written}, only_for);
  return true;
}

}  // namespace lathe
