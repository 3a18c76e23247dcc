#pragma once

#include <memory>
#include <vector>

#include "executors/cpu/lowering/plan_builder.h"
#include "executors/cpu/steps/elementwise_step.h"

namespace lathe {

// Steps over every element of one or two tensors of u16 codes. They work on memory as it lies: a
// tensor that fills it in another order than its dimensions is read and written in that order.

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
  const auto range = [=](const Frame& frame, int64_t begin, int64_t end) {
    body(*frame.kernels, frame.at<uint16_t>(x.buffer, x.offset + begin),
         frame.at<Result>(y.buffer, begin), end - begin);
  };
  plan.emit(std::make_unique<ElementwiseStep>(
                name, std::vector<ElementwiseStep::Operand>{{x.buffer, x.offset}}, y.buffer,
                elements(plan.value(result).shape), range),
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
  const auto range = [=](const Frame& frame, int64_t begin, int64_t end) {
    body(*frame.kernels, frame.at<uint16_t>(a.buffer, a.offset + begin),
         frame.at<uint16_t>(b.buffer, b.offset + begin), frame.at<uint16_t>(y.buffer, begin),
         end - begin);
  };
  plan.emit(
      std::make_unique<ElementwiseStep>(
          name, std::vector<ElementwiseStep::Operand>{{a.buffer, a.offset}, {b.buffer, b.offset}},
          y.buffer, elements(shape), range),
      {a.buffer, b.buffer, y.buffer});
  plan.define_at(result, y);
}

}  // namespace lathe
