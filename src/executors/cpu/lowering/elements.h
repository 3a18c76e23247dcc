#pragma once

#include <algorithm>

#include "executors/cpu/lowering/plan_builder.h"
#include "executors/cpu/steps/body_step.h"

namespace lathe {

// Steps over every element of one or two tensors of u16 codes. They work on memory as it lies: a
// tensor that fills it in another order than its dimensions is read and written in that order.

/// Calls job(begin, end) on ranges that cover `count` elements, over the team where it is worth it.
template <typename Job>
void split_elements(const Frame& frame, int64_t count, const Job& job) {
  constexpr int64_t kUnit = 64;  // no two threads write the same cache line
  split_if_large(frame, (count + kUnit - 1) / kUnit, kUnit, [&](int64_t begin, int64_t end) {
    job(begin * kUnit, std::min(end * kUnit, count));
  });
}

/// Where the elements of a value fill memory, in whatever order: as they lie, if they do.
inline Place in_any_order(PlanBuilder& plan, ValueId id) {
  const Place where = plan.place(id);
  return fills_memory(plan.value(id).shape, where.strides) ? where : plan.dense(id);
}

/// Emits body(kernels, x, y, count), where y becomes codes of type Result.
template <typename Result, typename Body>
void one_operand(PlanBuilder& plan, ValueId operand, ValueId result, const char* name, Body body) {
  const Place x = in_any_order(plan, operand);
  const Place y = plan.reserve(result, x.strides);
  const int64_t count = elements(plan.value(result).shape);
  plan.emit(make_step(name,
                      [=](const Frame& frame) noexcept {
                        split_elements(frame, count, [&](int64_t begin, int64_t end) {
                          body(*frame.kernels, frame.at<uint16_t>(x.buffer, x.offset + begin),
                               frame.at<Result>(y.buffer, begin), end - begin);
                        });
                      }),
            {x.buffer, y.buffer});
  plan.define_at(result, y);
}

/// Emits body(kernels, a, b, y, count) over tensors of one shape.
template <typename Body>
void two_operands(PlanBuilder& plan, ValueId first, ValueId second, ValueId result,
                  const char* name, Body body) {
  const Shape& shape = plan.value(result).shape;
  Place a = in_any_order(plan, first);
  Place b = in_any_order(plan, second);
  if (!same_order(shape, a.strides, b.strides)) {
    a = plan.dense(first);
    b = plan.dense(second);
  }
  const Place y = plan.reserve(result, a.strides);
  plan.emit(make_step(name,
                      [=, count = elements(shape)](const Frame& frame) noexcept {
                        split_elements(frame, count, [&](int64_t begin, int64_t end) {
                          body(*frame.kernels, frame.at<uint16_t>(a.buffer, a.offset + begin),
                               frame.at<uint16_t>(b.buffer, b.offset + begin),
                               frame.at<uint16_t>(y.buffer, begin), end - begin);
                        });
                      }),
            {a.buffer, b.buffer, y.buffer});
  plan.define_at(result, y);
}

}  // namespace lathe
