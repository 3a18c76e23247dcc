#include "executors/cpu/steps/copy_step.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "executors/cpu/steps/body_step.h"

namespace lathe {
namespace {

/// A dimension of more than one element. That of a graph input has its stride when it is bound.
struct Dimension {
  size_t index = 0;  // in the tensor
  int64_t size = 1;
  int64_t from = 0;  // strides
  int64_t to = 0;
};

template <typename Element>
class Copy {
 public:
  explicit Copy(const CopySpec& spec) : from_(spec.from), to_(spec.to), bound_(spec.from_input) {
    for (size_t i = 0; i < spec.shape.size(); ++i) {
      if (spec.shape[i] == 1) continue;
      dims_.push_back({i, spec.shape[i], bound_ ? 0 : spec.from.strides[i], spec.to.strides[i]});
    }
  }

  void operator()(const Frame& frame) const noexcept {
    const Shape* strides =
        bound_ ? &frame.inputs[static_cast<size_t>(from_.buffer)].strides : nullptr;
    // The last dimensions that are one stretch of memory on both sides.
    size_t depth = dims_.size();
    int64_t run = 1;
    while (depth > 0 && from_stride(strides, depth - 1) == run && dims_[depth - 1].to == run) {
      run *= dims_[--depth].size;
    }
    const Element* from = frame.at<Element>(from_.buffer, from_.offset);
    Element* to = frame.at<Element>(to_.buffer, to_.offset);
    if (depth == 0) {
      constexpr int64_t kUnit = 4096;  // elements
      split_if_large(frame, (run + kUnit - 1) / kUnit, kUnit, [&](int64_t begin, int64_t end) {
        const int64_t count = std::min(end * kUnit, run) - begin * kUnit;
        std::memcpy(to + begin * kUnit, from + begin * kUnit,
                    static_cast<size_t>(count) * sizeof(Element));
      });
      return;
    }
    int64_t each = run;
    for (size_t d = 1; d < depth; ++d) each *= dims_[d].size;
    const int64_t from_step = from_stride(strides, 0);
    split_if_large(frame, dims_[0].size, each, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        copy(strides, 1, depth, run, from + i * from_step, to + i * dims_[0].to);
      }
    });
  }

 private:
  int64_t from_stride(const Shape* strides, size_t d) const {
    return strides == nullptr ? dims_[d].from : (*strides)[dims_[d].index];
  }

  /// Copies the dimensions from `d` to `depth`, and runs of elements behind them.
  void copy(const Shape* strides, size_t d, size_t depth, int64_t run, const Element* from,
            Element* to) const {
    if (d == depth) {
      std::memcpy(to, from, static_cast<size_t>(run) * sizeof(Element));
      return;
    }
    const int64_t from_step = from_stride(strides, d);
    const int64_t to_step = dims_[d].to;
    const int64_t count = dims_[d].size;
    if (d + 1 == depth && run == 1) {
      for (int64_t i = 0; i < count; ++i) to[i * to_step] = from[i * from_step];
      return;
    }
    for (int64_t i = 0; i < count; ++i) {
      copy(strides, d + 1, depth, run, from + i * from_step, to + i * to_step);
    }
  }

  std::vector<Dimension> dims_;
  Place from_;
  Place to_;
  bool bound_;
};

}  // namespace

std::unique_ptr<Step> make_copy_step(const CopySpec& spec) {
  switch (spec.element_bytes) {
    case 1:
      return make_step("copy", Copy<uint8_t>(spec));
    case 2:
      return make_step("copy", Copy<uint16_t>(spec));
    case 4:
      return make_step("copy", Copy<uint32_t>(spec));
    default:
      return make_step("copy", Copy<uint64_t>(spec));
  }
}

}  // namespace lathe
