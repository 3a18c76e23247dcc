#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/constant.h"
#include "quant/weight_format.h"
#include "support/tensor.h"
#include "support/thread_pool.h"

namespace lathe {

/// Rows of a product's input to search with, taken evenly from all positions of a text. In SmolLM2
/// with weights in blocks of 32, the squared error on another text falls to 77 % with 16 rows, 73 %
/// with 64, 71 % with 128, 69 % with 256 and 512 (and to 73 % only with the first 128 of a text);
/// time and memory grow with each.
inline constexpr int64_t kSearchRows = 128;

/// Searches weight scales by what they do to a product (SeqMSE): for each channel of the weight
/// [N, K] or [N, K, 1, 1] the fraction of its largest magnitude (of every block's, where there are
/// blocks) at which clipping makes the squared error of x W^T over the rows x of `samples` [rows,
/// K] smallest. Tries 1/steps, 2/steps, ..., 1 and then as many fractions around the best, none
/// above 1; among equals the first of 1 and downwards. So no channel gets worse by it, on the
/// samples, than with the largest magnitude itself. 16-bit weights keep 1: there is nothing to
/// gain.
///
/// Gives the clips for quantize_weight, to be called with the same `floors`. Reads the weight a
/// block of channels at a time; the result does not depend on the number of threads. Throws Error
/// naming the weight where it or a sample is NaN or infinite, or where blocks do not divide K.
std::vector<float> search_clips(const Constant& weight, const Shape& shape,
                                const WeightFormat& format, const std::vector<double>& floors,
                                std::span<const float> samples, int steps, ThreadPool& pool);

}  // namespace lathe
