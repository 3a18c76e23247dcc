#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "graph/constant.h"

namespace lathe {

// Matrices [rows, columns] in row-major order, scaled where they are read.

/// Row r times factors[r] of [rows]; a bias is a matrix of one column.
std::shared_ptr<const FloatSource> scale_rows(std::shared_ptr<const FloatSource> source,
                                              int64_t columns, std::vector<float> factors);

/// Column c times factors[c] of [columns]; a norm's weight is a matrix of one row.
std::shared_ptr<const FloatSource> scale_columns(std::shared_ptr<const FloatSource> source,
                                                 std::vector<float> factors);

}  // namespace lathe
