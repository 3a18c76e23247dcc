#include <memory>
#include <utility>
#include <vector>

#include "executors/cpu/lowering/elements.h"
#include "executors/cpu/lowering/nodes.h"
#include "executors/cpu/steps/row_step.h"
#include "executors/cpu/values.h"
#include "executors/reference/codes.h"

// Operators that need a whole row of the last dimension at once.

namespace lathe {
namespace {

/// Where the rows of a value fill memory, in whatever order, each of them contiguous.
Place in_rows(PlanBuilder& plan, ValueId id) {
  const Place where = in_any_order(plan, id);
  const bool contiguous = row_width(plan.value(id).shape) == 1 || where.strides.back() == 1;
  return contiguous ? where : plan.dense(id);
}

/// Emits a step over the rows of u16 codes, with scratch of `scratch_bytes`. `constants` are what
/// the body reads besides.
void each_row(PlanBuilder& plan, const Node& node, const char* name, int64_t scratch_bytes,
              RowStep::Body body, const std::vector<BufferId>& constants = {}) {
  const Shape& shape = plan.value(node.output()).shape;
  const Place x = in_rows(plan, node.inputs[0]);
  const Place y = plan.reserve(node.output(), x.strides);
  RowStep::Rows rows;
  rows.x = x.buffer;
  rows.offset = x.offset;
  rows.y = y.buffer;
  rows.count = row_count(shape);
  rows.width = row_width(shape);
  rows.scratch_bytes = (scratch_bytes + 63) / 64 * 64;
  rows.scratch = plan.new_buffer(Buffer::Kind::scratch, rows.scratch_bytes * plan.threads());
  std::vector<Access> accesses{x.buffer, y.buffer, rows.scratch};
  accesses.insert(accesses.end(), constants.begin(), constants.end());
  plan.emit(std::make_unique<RowStep>(name, rows, std::move(body)), std::move(accesses));
  plan.define_at(node.output(), y);
}

bool from_u16_to_u16(const PlanBuilder& plan, const Node& node) {
  return is_codes(plan.value(node.inputs[0]), DType::u16) &&
         is_codes(plan.value(node.output()), DType::u16);
}

bool lower_rms_norm(PlanBuilder& plan, const Node& node) {
  const Value& gamma = plan.value(node.inputs[1]);
  if (!gamma.is_constant()) return false;
  const int64_t width = row_width(gamma.shape);
  std::vector<float> weight(static_cast<size_t>(width));
  dequantize(dense_view(gamma.dtype, gamma.shape,
                        const_cast<std::byte*>(plan.constant_data(node.inputs[1]))),
             *gamma.encoding, weight.data());
  each_row(plan, node, "rms_norm", 0,
           [=, weight = std::move(weight), from = affine(plan.value(node.inputs[0])),
            to = affine(plan.value(node.output())),
            eps = static_cast<float>(node.attributes.real("eps"))](
               const Kernels& k, const uint16_t* x, uint16_t* y, std::byte*) {
             k.rms_norm(x, weight.data(), y, width, eps, from, to);
           },
           {plan.constant_buffer(node.inputs[1])});
  return true;
}

void lower_softmax(PlanBuilder& plan, const Node& node) {
  const int64_t width = row_width(plan.value(node.output()).shape);
  each_row(plan, node, "softmax", width * static_cast<int64_t>(sizeof(float)),
           [=, from = affine(plan.value(node.inputs[0]))](const Kernels& k, const uint16_t* x,
                                                          uint16_t* y, std::byte* scratch) {
             k.softmax(x, y, width, from, reinterpret_cast<float*>(scratch));
           });
}

void lower_hadamard(PlanBuilder& plan, const Node& node) {
  const int64_t width = row_width(plan.value(node.output()).shape);
  each_row(plan, node, "hadamard", width * static_cast<int64_t>(sizeof(float)),
           [=, from = affine(plan.value(node.inputs[0])), to = affine(plan.value(node.output()))](
               const Kernels& k, const uint16_t* x, uint16_t* y, std::byte* scratch) {
             k.hadamard(x, y, width, from, to, reinterpret_cast<float*>(scratch));
           });
}

}  // namespace

bool lower_rows(PlanBuilder& plan, const Node& node) {
  if (node.op != Op::rms_norm && node.op != Op::hadamard && node.op != Op::softmax) return false;
  if (!from_u16_to_u16(plan, node)) return false;
  switch (node.op) {
    case Op::rms_norm:
      return lower_rms_norm(plan, node);
    case Op::softmax:
      lower_softmax(plan, node);
      return true;
    default:
      lower_hadamard(plan, node);
      return true;
  }
}

}  // namespace lathe
