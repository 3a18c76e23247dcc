#include "executors/reference/strided_copy.h"

#include <cstring>

namespace lathe {

StridedCopy::StridedCopy(const TensorView& from, const TensorView& to)
    : from_(from.data),
      to_(to.data),
      element_bytes_(bits_of(to.dtype) / 8),
      loop_(to.shape, {from.strides, to.strides}) {}

template <typename Element>
void StridedCopy::copy_elements(int64_t begin, int64_t end) const {
  const auto* from = reinterpret_cast<const Element*>(from_);
  auto* to = reinterpret_cast<Element*>(to_);
  const int64_t width = loop_.width();
  const auto [from_step, to_step] = loop_.steps();
  loop_.visit_rows(begin, end, [&](const StridedLoop<2>::Offsets& at) {
    const Element* x = from + at[0];
    Element* y = to + at[1];
    if (from_step == 1 && to_step == 1) {
      std::memcpy(y, x, static_cast<size_t>(width) * sizeof(Element));
    } else {
      for (int64_t i = 0; i < width; ++i) y[i * to_step] = x[i * from_step];
    }
  });
}

void StridedCopy::copy_rows(int64_t begin, int64_t end) const {
  switch (element_bytes_) {
    case 8:
      return copy_elements<uint64_t>(begin, end);
    case 4:
      return copy_elements<uint32_t>(begin, end);
    case 2:
      return copy_elements<uint16_t>(begin, end);
    default:
      return copy_elements<uint8_t>(begin, end);
  }
}

}  // namespace lathe
