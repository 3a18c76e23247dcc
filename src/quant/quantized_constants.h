#pragma once

#include <memory>
#include <string>
#include <vector>

#include "graph/constant.h"
#include "graph/encoding.h"
#include "quant/range.h"
#include "support/thread_pool.h"

namespace lathe {

// Float constants become codes a block of rows at a time: a large tensor is never held in float.
// Results do not depend on the number of threads. Each throws Error naming the constant where a
// number is NaN or infinite.

/// Codes and what they mean.
struct QuantizedConstant {
  Encoding encoding;
  std::shared_ptr<const Constant> constant;
};

/// The range of a float constant of that shape.
ValueRange constant_range(const Constant& constant, const Shape& shape, ThreadPool& pool);

/// u16 or u8 codes of a constant that is used as an activation, row-major.
QuantizedConstant quantize_activation(const Constant& constant, const Shape& shape,
                                      const Encoding& encoding, std::string name, ThreadPool& pool);

/// i32 codes of the bias [channels] of a product.
QuantizedConstant quantize_bias(const std::vector<float>& bias, const Encoding& input,
                                const Encoding& weight, std::string name);

/// All numbers of a small constant.
std::vector<float> read_all(const Constant& constant, const Shape& shape);

}  // namespace lathe
