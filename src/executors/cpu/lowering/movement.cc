#include <algorithm>
#include <cstring>
#include <utility>

#include "executors/cpu/lowering/nodes.h"
#include "executors/cpu/steps/body_step.h"
#include "executors/cpu/values.h"

namespace lathe {
namespace {

bool only_changes_strides(Op op) {
  switch (op) {
    case Op::alias:
    case Op::dropout:
    case Op::expand:
    case Op::reshape:
    case Op::select:
    case Op::slice:
    case Op::transpose:
    case Op::unsqueeze:
    case Op::view:
      return true;
    default:
      return false;
  }
}

/// The strides that repeat dimensions of size 1.
Shape expanded_strides(const Shape& from, const Shape& strides, const Shape& to) {
  Shape result(to.size(), 0);
  const size_t lead = to.size() - from.size();
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] == to[lead + i]) result[lead + i] = strides[i];
  }
  return result;
}

}  // namespace

bool lower_movement(PlanBuilder& plan, const Node& node) {
  if (!only_changes_strides(node.op)) return false;
  const ValueId in = node.inputs[0];
  const Shape& from = plan.value(in).shape;
  const Shape& to = plan.value(node.output()).shape;
  Place where = plan.place(in);
  const auto begin = where.strides.begin();
  const auto at = [&](const char* attribute, size_t rank) {
    return static_cast<std::ptrdiff_t>(dimension(node, attribute, rank));
  };
  switch (node.op) {
    case Op::view:
    case Op::reshape:
      if (std::optional<Shape> strides = reshape_strides(from, where.strides, to)) {
        where.strides = std::move(*strides);
      } else {
        where = plan.dense(in);
        where.strides = dense_strides(to);
      }
      break;
    case Op::unsqueeze:
      where.strides.insert(begin + at("dim", to.size()), 0);
      break;
    case Op::transpose:
      std::iter_swap(begin + at("dim0", from.size()), begin + at("dim1", from.size()));
      break;
    case Op::slice:
      where.offset += begin[at("dim", from.size())] * node.attributes.integer("start");
      break;
    case Op::select: {
      const auto dim = begin + at("dim", from.size());
      where.offset += *dim * node.attributes.integer("index");
      where.strides.erase(dim);
      break;
    }
    case Op::expand:
      where.strides = expanded_strides(from, where.strides, to);
      break;
    default:
      break;
  }
  plan.define_at(node.output(), std::move(where));
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
            {table.buffer, ids.buffer, out});
  return true;
}

}  // namespace lathe
