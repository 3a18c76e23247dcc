#include <utility>
#include <vector>

#include "executors/cpu/lowering/elements.h"
#include "executors/cpu/lowering/nodes.h"
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

/// Emits body(kernels, x, y, scratch) for every row of u16 codes. Scratch is 64-byte aligned, of
/// `scratch_bytes`. `constants` are what the body reads besides.
template <typename Body>
void each_row(PlanBuilder& plan, const Node& node, const char* name, int64_t scratch_bytes,
              Body body, const std::vector<BufferId>& constants = {}) {
  const Shape& shape = plan.value(node.output()).shape;
  const Place x = in_rows(plan, node.inputs[0]);
  const Place y = plan.reserve(node.output(), x.strides);
  const int64_t rows = row_count(shape);
  const int64_t width = row_width(shape);
  const int64_t stride = (scratch_bytes + 63) / 64 * 64;
  const BufferId scratch = plan.new_buffer(Buffer::Kind::scratch, stride * plan.threads());
  const auto run = [=](const Frame& frame, int64_t begin, int64_t end, int member) {
    for (int64_t row = begin; row < end; ++row) {
      body(*frame.kernels, frame.at<uint16_t>(x.buffer, x.offset + row * width),
           frame.at<uint16_t>(y.buffer, row * width),
           frame.at<std::byte>(scratch, stride * member));
    }
  };
  std::vector<Access> accesses{x.buffer, y.buffer, scratch};
  accesses.insert(accesses.end(), constants.begin(), constants.end());
  plan.emit(make_step(name,
                      [=](const Frame& frame) noexcept {
                        constexpr int64_t kWorthwhile = 16 * 1024;
                        if (rows * width < kWorthwhile) return run(frame, 0, rows, 0);
                        const int64_t team = frame.pool->size();
                        frame.pool->run([&](int member) {
                          run(frame, rows * member / team, rows * (member + 1) / team, member);
                        });
                      }),
            std::move(accesses));
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
