#pragma once

#include <cstdint>

#include "executors/reference/strided_loop.h"
#include "support/tensor.h"

namespace lathe {

/// Copies the elements of one view into another of the same shape and type, whatever the strides
/// (0 repeats an element). Prepared once; ranges of rows may be copied by different threads.
class StridedCopy {
 public:
  StridedCopy(const TensorView& from, const TensorView& to);

  int64_t rows() const { return loop_.rows(); }
  int64_t row_bytes() const { return loop_.width() * element_bytes_; }
  void copy_rows(int64_t begin, int64_t end) const;
  void copy() const { copy_rows(0, rows()); }

 private:
  template <typename Element>
  void copy_elements(int64_t begin, int64_t end) const;

  const std::byte* from_;
  std::byte* to_;
  int64_t element_bytes_;
  StridedLoop<2> loop_;
};

}  // namespace lathe
