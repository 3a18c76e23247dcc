#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "executors/cpu/lowering/nodes.h"
#include "executors/cpu/moved_place.h"
#include "executors/cpu/steps/body_step.h"
#include "executors/cpu/values.h"

namespace lathe {

bool lower_movement(PlanBuilder& plan, const Node& node) {
  if (!only_changes_strides(*plan.graph(), node)) return false;
  const ValueId in = node.inputs[0];
  std::optional<Place> where = moved_place(*plan.graph(), node, plan.place(in));
  if (!where) {
    where = plan.dense(in);
    where->strides = dense_strides(plan.value(node.output()).shape);
  }
  plan.define_at(node.output(), std::move(*where));
  return true;
}

bool lower_embedding(PlanBuilder& plan, const Node& node) {
  if (node.op != Op::embedding || plan.value(node.inputs[1]).dtype != DType::i32) return false;
  const Value& source = plan.value(node.inputs[0]);
  const Place table = plan.dense(node.inputs[0]);
  const Place ids = plan.dense(node.inputs[1]);
  const BufferId out = plan.define(node.output());
  const int64_t rows = source.shape[0];
  const int64_t row_bytes = byte_size(source.dtype, {source.shape[1]});
  const int64_t table_start = byte_size(source.dtype, {table.offset});
  const int64_t count = elements(plan.value(node.inputs[1]).shape);
  plan.emit(make_step("embedding",
                      [=](const Frame& frame) noexcept {
                        const int32_t* id = frame.at<int32_t>(ids.buffer, ids.offset);
                        for (int64_t i = 0; i < count; ++i) {
                          // Ids are checked where they enter; a wrong one must not read elsewhere.
                          const int64_t row = std::clamp<int64_t>(id[i], 0, rows - 1);
                          std::memcpy(
                              frame.at<std::byte>(out, i * row_bytes),
                              frame.at<std::byte>(table.buffer, table_start + row * row_bytes),
                              static_cast<size_t>(row_bytes));
                        }
                      }),
            {{table.buffer, count * row_bytes}, ids.buffer, out});
  return true;
}

}  // namespace lathe
