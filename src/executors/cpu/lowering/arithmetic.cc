#include <algorithm>
#include <numeric>
#include <optional>

#include "executors/cpu/lowering/elements.h"
#include "executors/cpu/lowering/nodes.h"
#include "executors/cpu/steps/body_step.h"
#include "executors/cpu/values.h"
#include "executors/reference/codes.h"
#include "executors/reference/strided_loop.h"

// add, sub and mul of u16 codes: of two tensors, or of a tensor and a scalar.

namespace lathe {
namespace {

/// One of these operators, as kernels over two rows, and over a row and a number.
struct Arithmetic {
  const char* name;
  void (*Kernels::*rows)(const uint16_t*, const uint16_t*, uint16_t*, int64_t,
                         const BinaryEncodings&) noexcept;
  void (*Kernels::*row_and_number)(const uint16_t*, float, uint16_t*, int64_t, Affine,
                                   Affine) noexcept;
  bool negates;  // x - number is x + -number
  bool commutes;

  void apply(const Kernels& k, const uint16_t* x, float number, uint16_t* y, int64_t count,
             Affine from, Affine to) const {
    (k.*row_and_number)(x, negates ? -number : number, y, count, from, to);
  }
};

Arithmetic arithmetic_of(Op op) {
  switch (op) {
    case Op::add:
      return {"add", &Kernels::add, &Kernels::add_scalar, false, true};
    case Op::sub:
      return {"sub", &Kernels::sub, &Kernels::add_scalar, true, false};
    default:
      return {"mul", &Kernels::mul, &Kernels::mul_scalar, false, true};
  }
}

/// Rows of a and b that broadcast to rows of y.
using Rows = StridedLoop<3>;

/// The rows of y in the order of its memory, where both operands are contiguous along them or stay
/// at one element; nothing where an operand does neither.
std::optional<Rows> contiguous_rows(const Shape& shape, const Shape& a, const Shape& b,
                                    const Shape& y, bool commutes) {
  Shape order(shape.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
    return y[static_cast<size_t>(i)] > y[static_cast<size_t>(j)];
  });
  const auto ordered = [&](const Shape& from) {
    Shape to;
    for (const int64_t d : order) to.push_back(from[static_cast<size_t>(d)]);
    return to;
  };
  const Rows rows(ordered(shape), {ordered(a), ordered(b), ordered(y)});
  const auto [a_step, b_step, y_step] = rows.steps();
  const bool fits = y_step == 1 && ((a_step == 1 && b_step == 1) || (a_step == 1 && b_step == 0) ||
                                    (a_step == 0 && b_step == 1 && commutes));
  return fits ? std::optional(rows) : std::nullopt;
}

struct Operands {
  Place a;
  Place b;
  Shape result;  // strides
  std::optional<Rows> rows;
};

Operands operands_at(const PlanBuilder& plan, const Node& node, Place a, Place b, bool commutes) {
  const Shape& shape = plan.value(node.output()).shape;
  const Shape& a_shape = plan.value(node.inputs[0]).shape;
  const Shape& b_shape = plan.value(node.inputs[1]).shape;
  Operands found{std::move(a), std::move(b), dense_strides(shape), {}};
  // The result lies as the operand does that is not repeated.
  if (a_shape == shape && fills_memory(shape, found.a.strides)) {
    found.result = found.a.strides;
  } else if (b_shape == shape && fills_memory(shape, found.b.strides)) {
    found.result = found.b.strides;
  }
  found.rows =
      contiguous_rows(shape, broadcast_strides(a_shape, found.a.strides, shape),
                      broadcast_strides(b_shape, found.b.strides, shape), found.result, commutes);
  return found;
}

bool lower_broadcast(PlanBuilder& plan, const Node& node, const Arithmetic& arithmetic) {
  const ValueId left = node.inputs[0];
  const ValueId right = node.inputs[1];
  Operands found =
      operands_at(plan, node, plan.place(left), plan.place(right), arithmetic.commutes);
  if (!found.rows) {
    found = operands_at(plan, node, plan.dense(left), plan.dense(right), arithmetic.commutes);
  }
  if (!found.rows) return false;
  const Place y = plan.reserve(node.output(), found.result);
  const BinaryEncodings e{affine(plan.value(left)), affine(plan.value(right)),
                          affine(plan.value(node.output()))};
  const auto row = [=, a = found.a, b = found.b, steps = found.rows->steps(),
                    width = found.rows->width()](const Frame& frame, const Rows::Offsets& at) {
    const uint16_t* p = frame.at<uint16_t>(a.buffer, a.offset + at[0]);
    const uint16_t* q = frame.at<uint16_t>(b.buffer, b.offset + at[1]);
    uint16_t* r = frame.at<uint16_t>(y.buffer, at[2]);
    const Kernels& kernels = *frame.kernels;
    if (steps[1] == 0) {
      arithmetic.apply(kernels, p, dequantize(*q, e.b.scale, e.b.zero_point), r, width, e.a, e.y);
    } else if (steps[0] == 0) {
      arithmetic.apply(kernels, q, dequantize(*p, e.a.scale, e.a.zero_point), r, width, e.b, e.y);
    } else {
      (kernels.*arithmetic.rows)(p, q, r, width, e);
    }
  };
  plan.emit(make_step(arithmetic.name,
                      [row, rows = *found.rows](const Frame& frame) noexcept {
                        split_if_large(frame, rows.rows(), rows.width(),
                                       [&](int64_t begin, int64_t end) {
                                         for (int64_t i = begin; i < end; ++i) {
                                           row(frame, rows.start_of(i));
                                         }
                                       });
                      }),
            {found.a.buffer, found.b.buffer, y.buffer});
  plan.define_at(node.output(), y);
  return true;
}

}  // namespace

bool lower_arithmetic(PlanBuilder& plan, const Node& node) {
  const Arithmetic arithmetic = arithmetic_of(node.op);
  const Affine to = affine(plan.value(node.output()));
  if (node.inputs.size() == 1) {
    const auto number = static_cast<float>(node.attributes.real("other"));
    one_operand<uint16_t>(plan, node.inputs[0], node.output(), arithmetic.name,
                          [=, from = affine(plan.value(node.inputs[0]))](
                              const Kernels& k, const uint16_t* x, uint16_t* y, int64_t n) {
                            arithmetic.apply(k, x, number, y, n, from, to);
                          });
    return true;
  }
  if (plan.value(node.inputs[0]).shape != plan.value(node.inputs[1]).shape) {
    return lower_broadcast(plan, node, arithmetic);
  }
  const BinaryEncodings encodings{affine(plan.value(node.inputs[0])),
                                  affine(plan.value(node.inputs[1])), to};
  two_operands(plan, node.inputs[0], node.inputs[1], node.output(), arithmetic.name,
               [=](const Kernels& k, const uint16_t* a, const uint16_t* b, uint16_t* y, int64_t n) {
                 (k.*arithmetic.rows)(a, b, y, n, encodings);
               });
  return true;
}

}  // namespace lathe
