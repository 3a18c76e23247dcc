#include <algorithm>
#include <cstring>

#include "executors/cpu/lowering/nodes.h"
#include "executors/cpu/steps/body_step.h"
#include "executors/cpu/values.h"

namespace lathe {

bool lower_index_copy(PlanBuilder& plan, const Node& node) {
  if (node.op != Op::index_copy_) return false;
  const Value& whole = plan.value(node.output());
  const Shape& shape = whole.shape;
  const Shape& rows = plan.value(node.inputs[2]).shape;
  const size_t dim = dimension(node, "dim", shape.size());
  const int64_t slots = shape[dim];
  const int64_t count = rows[dim];
  const auto behind = static_cast<std::ptrdiff_t>(dim) + 1;
  const int64_t row_bytes = byte_size(whole.dtype, Shape(shape.begin() + behind, shape.end()));
  const int64_t outer = elements(Shape(shape.begin(), shape.begin() + behind - 1));

  const Place index = plan.dense(node.inputs[1]);
  const Place source = plan.dense(node.inputs[2]);
  const int64_t source_start = byte_size(whole.dtype, {source.offset});
  const Place out = plan.reserve(node.output(), dense_strides(shape));
  plan.emit_copy(node.inputs[0], out);
  plan.emit(make_step("index_copy",
                      [=](const Frame& frame) noexcept {
                        const int64_t* slot = frame.at<int64_t>(index.buffer, index.offset);
                        const auto* from = frame.at<std::byte>(source.buffer, source_start);
                        auto* to = frame.at<std::byte>(out.buffer);
                        for (int64_t i = 0; i < outer; ++i) {
                          for (int64_t row = 0; row < count; ++row) {
                            // A wrong slot must not write elsewhere.
                            const int64_t at = std::clamp<int64_t>(slot[row], 0, slots - 1);
                            std::memcpy(to + (i * slots + at) * row_bytes,
                                        from + (i * count + row) * row_bytes,
                                        static_cast<size_t>(row_bytes));
                          }
                        }
                      }),
            {index.buffer, source.buffer, {out.buffer, outer * count * row_bytes}});
  plan.define_at(node.output(), out);
  return true;
}

}  // namespace lathe
