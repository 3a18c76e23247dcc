#pragma once

#include <span>
#include <string>
#include <vector>

#include "quant/quantized_constants.h"
#include "quant/weight_format.h"

namespace lathe {

/// The weight [N, K] or [N, K, 1, 1] of a product in `format`, as docs/numerics.md says: i8 and i4
/// packed (graph/packed_weights.h, graph/packed_int4.h), i16 row-major. Read and converted a block
/// of channels at a time.
///
/// `floors`: the smallest scale of each channel (bias_scale_floor), or nothing. `clips`: for each
/// channel the fraction of its largest magnitude, of every block's where there are blocks, beyond
/// which weights are clipped (0 < clip <= 1), or nothing for 1. Throws Error naming the weight
/// where a number is NaN or infinite, or where the block does not divide K.
QuantizedConstant quantize_weight(const Constant& weight, const Shape& shape,
                                  const WeightFormat& format, const std::vector<double>& floors,
                                  std::string name, ThreadPool& pool,
                                  std::span<const float> clips = {});

/// Throws Error naming `weight` where a format with blocks does not divide its K.
void require_whole_blocks(const WeightFormat& format, int64_t k, const std::string& weight);

}  // namespace lathe
