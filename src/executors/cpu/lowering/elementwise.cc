#include <algorithm>
#include <utility>

#include "executors/cpu/lowering/nodes.h"
#include "executors/cpu/steps/body_step.h"
#include "executors/cpu/values.h"
#include "executors/reference/codes.h"

namespace lathe {
namespace {

/// Emits body(kernels, x, y, count) over two dense tensors of the same u16 codes' shape.
template <typename Body>
void one_operand(PlanBuilder& plan, const Node& node, const char* name, Body body) {
  const Place x = plan.dense(node.inputs[0]);
  const BufferId y = plan.define(node.output());
  const Shape& shape = plan.value(node.output()).shape;
  const int64_t width = row_width(shape);
  plan.emit(make_step(name,
                      [=, rows = row_count(shape)](const Frame& frame) noexcept {
                        split_if_large(frame, rows, width, [&](int64_t begin, int64_t end) {
                          body(*frame.kernels,
                               frame.at<uint16_t>(x.buffer, x.offset + begin * width),
                               frame.at<uint16_t>(y, begin * width), (end - begin) * width);
                        });
                      }),
            {x.buffer, y});
}

/// Emits body(kernels, a, b, y, count) over three dense tensors of one shape.
template <typename Body>
void two_operands(PlanBuilder& plan, ValueId first, ValueId second, ValueId result,
                  const char* name, Body body) {
  const Place a = plan.dense(first);
  const Place b = plan.dense(second);
  const BufferId y = plan.define(result);
  const Shape& shape = plan.value(result).shape;
  const int64_t width = row_width(shape);
  plan.emit(make_step(name,
                      [=, rows = row_count(shape)](const Frame& frame) noexcept {
                        split_if_large(frame, rows, width, [&](int64_t begin, int64_t end) {
                          body(*frame.kernels,
                               frame.at<uint16_t>(a.buffer, a.offset + begin * width),
                               frame.at<uint16_t>(b.buffer, b.offset + begin * width),
                               frame.at<uint16_t>(y, begin * width), (end - begin) * width);
                        });
                      }),
            {a.buffer, b.buffer, y});
}

/// Where the elements of a value fill memory without gaps, in whatever order: as they lie, if so.
Place without_gaps(PlanBuilder& plan, ValueId id) {
  Place where = plan.place(id);
  const Shape& shape = plan.value(id).shape;
  int64_t last = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] > 1 && where.strides[i] == 0) return plan.dense(id);
    last += (shape[i] - 1) * where.strides[i];
  }
  return last + 1 == elements(shape) ? where : plan.dense(id);
}

bool lower_requantize(PlanBuilder& plan, const Node& node) {
  const Value& from = plan.value(node.inputs[0]);
  const Value& to = plan.value(node.output());
  if (!is_codes(from, DType::u16)) return false;
  if (is_codes(to, DType::u16)) {
    one_operand(
        plan, node, "requantize",
        [x = affine(from), y = affine(to)](const Kernels& k, const uint16_t* p, uint16_t* r,
                                           int64_t n) { k.requantize_u16_u16(p, r, n, x, y); });
    return true;
  }
  if (!is_codes(to, DType::u8)) return false;
  // New keys and values: small, and read through strides afterwards anyway.
  const Place in = without_gaps(plan, node.inputs[0]);
  const int64_t count = elements(to.shape);
  const BufferId out = plan.new_buffer(Buffer::Kind::arena, count);
  plan.emit(make_step("requantize",
                      [=, x = affine(from), y = affine(to)](const Frame& frame) noexcept {
                        frame.kernels->requantize_u16_u8(frame.at<uint16_t>(in.buffer, in.offset),
                                                         frame.at<uint8_t>(out), count, x, y);
                      }),
            {in.buffer, out});
  plan.define_at(node.output(), {out, 0, in.strides});
  return true;
}

bool all_u16(const PlanBuilder& plan, const Node& node) {
  const auto fits = [&](ValueId id) { return is_codes(plan.value(id), DType::u16); };
  return fits(node.output()) && std::all_of(node.inputs.begin(), node.inputs.end(), fits);
}

/// The second operand of add and mul is a tensor of the same shape; mul also takes a scalar.
bool lower_arithmetic(PlanBuilder& plan, const Node& node) {
  const Value& result = plan.value(node.output());
  const Affine a = affine(plan.value(node.inputs[0]));
  const Affine y = affine(result);
  if (node.inputs.size() == 1) {
    if (node.op != Op::mul) return false;
    const auto scalar = static_cast<float>(node.attributes.real("other"));
    one_operand(plan, node, "mul_scalar",
                [=](const Kernels& k, const uint16_t* x, uint16_t* r, int64_t n) {
                  k.mul_scalar(x, scalar, r, n, a, y);
                });
    return true;
  }
  for (const ValueId id : node.inputs) {
    if (plan.value(id).shape != result.shape) return false;
  }
  const bool add = node.op == Op::add;
  const BinaryEncodings encodings{a, affine(plan.value(node.inputs[1])), y};
  two_operands(plan, node.inputs[0], node.inputs[1], node.output(), add ? "add" : "mul",
               [=](const Kernels& k, const uint16_t* p, const uint16_t* q, uint16_t* r, int64_t n) {
                 (add ? k.add : k.mul)(p, q, r, n, encodings);
               });
  return true;
}

}  // namespace

bool lower_elementwise(PlanBuilder& plan, const Node& node) {
  if (node.op == Op::requantize) return lower_requantize(plan, node);
  const bool arithmetic = node.op == Op::add || node.op == Op::mul;
  if (!arithmetic && node.op != Op::neg && node.op != Op::silu) return false;
  if (!all_u16(plan, node)) return false;
  if (arithmetic) return lower_arithmetic(plan, node);
  const Affine from = affine(plan.value(node.inputs[0]));
  const Affine to = affine(plan.value(node.output()));
  const bool negates = node.op == Op::neg;
  one_operand(plan, node, negates ? "neg" : "silu",
              [=](const Kernels& k, const uint16_t* x, uint16_t* y, int64_t n) {
                (negates ? k.neg : k.silu)(x, y, n, from, to);
              });
  return true;
}

bool lower_rms_norm(PlanBuilder& plan, const Node& node) {
  if (node.op != Op::rms_norm) return false;
  const Value& from = plan.value(node.inputs[0]);
  const Value& gamma = plan.value(node.inputs[1]);
  const Value& to = plan.value(node.output());
  if (!is_codes(from, DType::u16) || !is_codes(to, DType::u16) || !gamma.is_constant())
    return false;
  const Place x = plan.dense(node.inputs[0]);
  const BufferId y = plan.define(node.output());
  const int64_t width = row_width(to.shape);
  std::vector<float> weight(static_cast<size_t>(width));
  dequantize(dense_view(gamma.dtype, gamma.shape,
                        const_cast<std::byte*>(plan.constant_data(node.inputs[1]))),
             *gamma.encoding, weight.data());
  const auto eps = static_cast<float>(node.attributes.real("eps"));
  plan.emit(make_step("rms_norm",
                      [=, weight = std::move(weight), rows = row_count(to.shape),
                       from = affine(from), to = affine(to)](const Frame& frame) noexcept {
                        split_if_large(frame, rows, width, [&](int64_t begin, int64_t end) {
                          for (int64_t row = begin; row < end; ++row) {
                            frame.kernels->rms_norm(
                                frame.at<uint16_t>(x.buffer, x.offset + row * width), weight.data(),
                                frame.at<uint16_t>(y, row * width), width, eps, from, to);
                          }
                        });
                      }),
            {x.buffer, y});
  return true;
}

void lower_gated(PlanBuilder& plan, const GatedPattern& pattern) {
  const SiluMulEncodings encodings{
      affine(plan.value(pattern.gate)), affine(plan.value(pattern.activated)),
      affine(plan.value(pattern.up)), affine(plan.value(pattern.result))};
  two_operands(plan, pattern.gate, pattern.up, pattern.result, "silu_mul",
               [=](const Kernels& k, const uint16_t* gate, const uint16_t* up, uint16_t* r,
                   int64_t n) { k.silu_mul(gate, up, r, n, encodings); });
}

}  // namespace lathe
