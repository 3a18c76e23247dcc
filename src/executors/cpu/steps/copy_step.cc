#include "executors/cpu/steps/copy_step.h"

#include <cstring>
#include <utility>

#include "executors/cpu/steps/body_step.h"

namespace lathe {
namespace {

/// Copies the dimensions from `dim` on.
template <typename Element>
void copy(const CopySpec& spec, const Shape& from_strides, size_t dim, const Element* from,
          Element* to) {
  if (dim == spec.shape.size()) {
    *to = *from;
    return;
  }
  const int64_t count = spec.shape[dim];
  const int64_t from_step = from_strides[dim];
  const int64_t to_step = spec.to.strides[dim];
  if (dim + 1 < spec.shape.size()) {
    for (int64_t i = 0; i < count; ++i) {
      copy(spec, from_strides, dim + 1, from + i * from_step, to + i * to_step);
    }
  } else if (from_step == 1 && to_step == 1) {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(Element));
  } else {
    for (int64_t i = 0; i < count; ++i) to[i * to_step] = from[i * from_step];
  }
}

template <typename Element>
std::unique_ptr<Step> copy_step_of(CopySpec spec) {
  return make_step("copy", [spec = std::move(spec)](const Frame& frame) noexcept {
    const Shape& strides = spec.from_input
                               ? frame.inputs[static_cast<size_t>(spec.from.buffer)].strides
                               : spec.from.strides;
    copy<Element>(spec, strides, 0, frame.at<Element>(spec.from.buffer, spec.from.offset),
                  frame.at<Element>(spec.to.buffer, spec.to.offset));
  });
}

}  // namespace

std::unique_ptr<Step> make_copy_step(CopySpec spec) {
  switch (spec.element_bytes) {
    case 1:
      return copy_step_of<uint8_t>(std::move(spec));
    case 2:
      return copy_step_of<uint16_t>(std::move(spec));
    case 4:
      return copy_step_of<uint32_t>(std::move(spec));
    default:
      return copy_step_of<uint64_t>(std::move(spec));
  }
}

}  // namespace lathe
