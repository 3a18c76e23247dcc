#include <algorithm>
#include <utility>

#include "executors/cpu/lowering/elements.h"
#include "executors/cpu/lowering/nodes.h"
#include "executors/cpu/values.h"

namespace lathe {
namespace {

bool lower_requantize(PlanBuilder& plan, const Node& node) {
  const Value& from = plan.value(node.inputs[0]);
  const Value& to = plan.value(node.output());
  if (!is_codes(from, DType::u16)) return false;
  const Affine x = affine(from);
  const Affine y = affine(to);
  if (is_codes(to, DType::u16)) {
    one_operand<uint16_t>(plan, node.inputs[0], node.output(), "requantize",
                          [=](const Kernels& k, const uint16_t* p, uint16_t* r, int64_t n) {
                            k.requantize_u16_u16(p, r, n, x, y);
                          });
    return true;
  }
  if (!is_codes(to, DType::u8)) return false;
  one_operand<uint8_t>(plan, node.inputs[0], node.output(), "requantize",
                       [=](const Kernels& k, const uint16_t* p, uint8_t* r, int64_t n) {
                         k.requantize_u16_u8(p, r, n, x, y);
                       });
  return true;
}

bool all_u16(const PlanBuilder& plan, const Node& node) {
  const auto fits = [&](ValueId id) { return is_codes(plan.value(id), DType::u16); };
  return fits(node.output()) && std::all_of(node.inputs.begin(), node.inputs.end(), fits);
}

bool lower_square(PlanBuilder& plan, const Node& node) {
  if (static_cast<float>(node.attributes.real("exponent")) != 2.0f) return false;
  const Affine x = affine(plan.value(node.inputs[0]));
  one_operand<uint16_t>(
      plan, node.inputs[0], node.output(), "square",
      [e = BinaryEncodings{x, x, affine(plan.value(node.output()))}](
          const Kernels& k, const uint16_t* p, uint16_t* r, int64_t n) { k.mul(p, p, r, n, e); });
  return true;
}

bool lower_div(PlanBuilder& plan, const Node& node) {
  if (node.inputs.size() != 1) return false;
  one_operand<uint16_t>(
      plan, node.inputs[0], node.output(), "div",
      [scalar = static_cast<float>(node.attributes.real("other")),
       from = affine(plan.value(node.inputs[0])), to = affine(plan.value(node.output()))](
          const Kernels& k, const uint16_t* x, uint16_t* y, int64_t n) {
        k.div_scalar(x, scalar, y, n, from, to);
      });
  return true;
}

}  // namespace

bool lower_elementwise(PlanBuilder& plan, const Node& node) {
  if (node.op == Op::requantize) return lower_requantize(plan, node);
  const auto emit = [&](const char* name, auto kernel) {
    one_operand<uint16_t>(
        plan, node.inputs[0], node.output(), name,
        [=, from = affine(plan.value(node.inputs[0])), to = affine(plan.value(node.output()))](
            const Kernels& k, const uint16_t* x, uint16_t* y, int64_t n) {
          (k.*kernel)(x, y, n, from, to);
        });
    return true;
  };
  if (!all_u16(plan, node)) return false;
  switch (node.op) {
    case Op::add:
    case Op::mul:
    case Op::sub:
      return lower_arithmetic(plan, node);
    case Op::pow:
      return lower_square(plan, node);
    case Op::div:
      return lower_div(plan, node);
    case Op::gelu:
      return node.attributes.text("approximate") == "tanh" && emit("gelu", &Kernels::gelu_tanh);
    case Op::neg:
      return emit("neg", &Kernels::neg);
    case Op::sigmoid:
      return emit("sigmoid", &Kernels::sigmoid);
    case Op::silu:
      return emit("silu", &Kernels::silu);
    case Op::tanh:
      return emit("tanh", &Kernels::tanh);
    default:
      return false;
  }
}

void lower_gated(PlanBuilder& plan, const GatedPattern& pattern) {
  const GatedEncodings encodings{
      affine(plan.value(pattern.gate)), affine(plan.value(pattern.activated)),
      affine(plan.value(pattern.up)), affine(plan.value(pattern.result))};
  const bool silu = pattern.activation == Op::silu;
  const auto kernel = silu ? &Kernels::silu_mul : &Kernels::gelu_tanh_mul;
  two_operands(plan, pattern.gate, pattern.up, pattern.result, silu ? "silu_mul" : "gelu_mul",
               [=](const Kernels& k, const uint16_t* gate, const uint16_t* up, uint16_t* r,
                   int64_t n) { (k.*kernel)(gate, up, r, n, encodings); });
}

}  // namespace lathe
