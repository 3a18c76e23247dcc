#include <memory>
#include <utility>
#include <vector>

#include "executors/cpu/lowering/nodes.h"
#include "executors/cpu/steps/elementwise_step.h"
#include "executors/cpu/values.h"

namespace lathe {
namespace {

/// Emits body(kernels, args) for every token, where `args` begins as `base` and has the token's
/// heads and rows of cos and sin. `to` is where args points to for its result, codes of type Code.
template <typename Code, typename Args, typename Body>
void each_token(PlanBuilder& plan, ValueId operand, ValueId cos_rows, ValueId sin_rows,
                ValueId result, Args base, Code* Args::* to, Body body) {
  const Shape& shape = plan.value(operand).shape;  // [1, heads, AR, D]
  const int64_t heads = shape[1];
  const int64_t width = shape[3];
  const int64_t row = plan.value(cos_rows).shape[3];
  Place x = plan.place(operand);
  if (x.strides[3] != 1) x = plan.dense(operand);
  const Place cos = plan.dense(cos_rows);
  const Place sin = plan.dense(sin_rows);
  // Tokens outermost, as the projection gave them: [AR, heads, D].
  const Place out = plan.reserve(result, {elements(shape), width, heads * width, 1});
  base.x_stride = x.strides[1];
  base.y_stride = width;
  base.heads = heads;
  base.head_dim = width;
  const auto range = [=, step = x.strides[2], unit = heads * width](const Frame& frame,
                                                                    int64_t begin, int64_t end) {
    for (int64_t token = begin / unit; token < end / unit; ++token) {
      Args args = base;
      args.x = frame.at<uint16_t>(x.buffer, x.offset + token * step);
      args.*to = frame.at<Code>(out.buffer, token * unit);
      args.cos = frame.at<uint16_t>(cos.buffer, cos.offset + token * row);
      args.sin = frame.at<uint16_t>(sin.buffer, sin.offset + token * row);
      body(*frame.kernels, args);
    }
  };
  std::vector<ElementwiseStep::Operand> operands;
  if (same_order(shape, x.strides, out.strides)) operands.push_back({x.buffer, x.offset});
  plan.emit(std::make_unique<ElementwiseStep>("rope", std::move(operands), out.buffer,
                                              elements(shape), range, heads * width),
            {x.buffer, cos.buffer, sin.buffer, out.buffer});
  plan.define_at(result, out);
}

}  // namespace

void lower_rope(PlanBuilder& plan, const RopePattern& pattern) {
  const auto encoding = [&](ValueId id) { return affine(plan.value(id)); };
  RopeArgs base;
  base.encodings = {encoding(pattern.x),     encoding(pattern.cos),
                    encoding(pattern.sin),   encoding(pattern.rotated),
                    encoding(pattern.x_cos), encoding(pattern.rotated_sin),
                    encoding(pattern.result)};
  each_token(plan, pattern.x, pattern.cos, pattern.sin, pattern.result, base, &RopeArgs::y,
             [](const Kernels& kernels, const RopeArgs& args) { kernels.rope_half(args); });
}

void lower_split_rope(PlanBuilder& plan, const SplitRopePattern& pattern) {
  const auto encoding = [&](ValueId id) { return affine(plan.value(id)); };
  SplitRopeArgs base;
  base.rotating = pattern.rotating;
  base.encodings = {encoding(pattern.x),      encoding(pattern.cos),    encoding(pattern.sin),
                    encoding(pattern.x1_cos), encoding(pattern.x2_sin), encoding(pattern.x2_cos),
                    encoding(pattern.x1_sin), encoding(pattern.low),    encoding(pattern.high),
                    encoding(pattern.result)};
  const auto rotate = [](const Kernels& kernels, const SplitRopeArgs& args) {
    kernels.rope_split(args);
  };
  if (plan.value(pattern.result).dtype == DType::u8) {
    each_token(plan, pattern.x, pattern.cos, pattern.sin, pattern.result, base,
               &SplitRopeArgs::bytes, rotate);
  } else {
    each_token(plan, pattern.x, pattern.cos, pattern.sin, pattern.result, base, &SplitRopeArgs::y,
               rotate);
  }
}

}  // namespace lathe
