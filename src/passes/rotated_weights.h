#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "graph/constant.h"
#include "support/orthogonal.h"
#include "support/tensor.h"

namespace lathe {

// Weights of a model in which a vector x is replaced by x Q, computed from the original ones where
// they are read. All matrices are [rows, columns] in row-major order. Where Q is smaller than the
// vector, as for attention heads, every run of Q's size is rotated by itself.

/// Rows times Q: an embedding table, T Q; with `gamma` [columns], what reads the vector behind a
/// norm with that weight, W diag(gamma) Q. `gamma` may be null.
std::shared_ptr<const FloatSource> rotate_rows(std::shared_ptr<const FloatSource> source,
                                               const Shape& shape,
                                               std::shared_ptr<const FloatSource> gamma,
                                               std::shared_ptr<const Orthogonal> q);

/// Rotates what writes the vector: Q^T W, or for a bias [rows] (columns = 1), b Q. A row of the
/// result takes all rows of the source, so a matrix is rotated as a whole and kept for the reads of
/// its other blocks; matrices are read one after the other, so the rotator keeps the last one only.
class ColumnRotator : public std::enable_shared_from_this<ColumnRotator> {
 public:
  explicit ColumnRotator(std::shared_ptr<const Orthogonal> q) : q_(std::move(q)) {}

  std::shared_ptr<const FloatSource> rotate(std::shared_ptr<const FloatSource> source,
                                            const Shape& shape);

 private:
  class Rotated;
  using Matrix = std::shared_ptr<const std::vector<float>>;  // [rows, columns]

  /// The rotated matrix `number`.
  Matrix matrix(int number, const FloatSource& source, const Shape& shape);

  std::shared_ptr<const Orthogonal> q_;
  int count_ = 0;
  std::mutex mutex_;
  int last_number_ = -1;
  Matrix last_;
};

}  // namespace lathe
