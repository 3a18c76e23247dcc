#include "executors/cpu/lowering/nodes.h"
#include "executors/cpu/steps/body_step.h"
#include "executors/cpu/values.h"

namespace lathe {

void lower_rope(PlanBuilder& plan, const RopePattern& pattern) {
  const auto encoding = [&](ValueId id) { return affine(plan.value(id)); };
  const Shape& shape = plan.value(pattern.x).shape;  // [1, heads, AR, D]
  const int64_t heads = shape[1];
  const int64_t tokens = shape[2];
  const int64_t width = shape[3];
  Place x = plan.place(pattern.x);
  if (x.strides[3] != 1) x = plan.dense(pattern.x);
  const Place cos = plan.dense(pattern.cos);
  const Place sin = plan.dense(pattern.sin);
  // Tokens outermost, as the projection gave them: [AR, heads, D].
  const BufferId out =
      plan.new_buffer(Buffer::Kind::arena, byte_size(DType::u16, {tokens, heads, width}));
  RopeArgs base;
  base.x_stride = x.strides[1];
  base.y_stride = width;
  base.heads = heads;
  base.head_dim = width;
  base.encodings = {encoding(pattern.x),     encoding(pattern.cos),
                    encoding(pattern.sin),   encoding(pattern.rotated),
                    encoding(pattern.x_cos), encoding(pattern.rotated_sin),
                    encoding(pattern.result)};
  plan.emit(
      make_step("rope",
                [=, step = x.strides[2]](const Frame& frame) noexcept {
                  split_if_large(frame, tokens, heads * width, [&](int64_t begin, int64_t end) {
                    for (int64_t token = begin; token < end; ++token) {
                      RopeArgs args = base;
                      args.x = frame.at<uint16_t>(x.buffer, x.offset + token * step);
                      args.y = frame.at<uint16_t>(out, token * heads * width);
                      args.cos = frame.at<uint16_t>(cos.buffer, cos.offset + token * width);
                      args.sin = frame.at<uint16_t>(sin.buffer, sin.offset + token * width);
                      frame.kernels->rope_half(args);
                    }
                  });
                }),
      {x.buffer, cos.buffer, sin.buffer, out});
  plan.define_at(pattern.result, {out, 0, {elements(shape), width, heads * width, 1}});
}

}  // namespace lathe
