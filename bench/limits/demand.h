#pragma once

#include <cstdint>

#include "artifact/model.h"

namespace lathe::bench {

/// What a model asks of a machine, whatever program runs it: bytes to read and products of two
/// bytes to add up. A 16-bit activation times an 8-bit weight, or one of 4 bits, is two products.
struct Demand {
  double weight_bytes = 0.0;              ///< of one token
  double cache_bytes_per_position = 0.0;  ///< of one token, for each that stands before it
  double body_products = 0.0;             ///< of one token, but for the logits
  double head_products = 0.0;             ///< of the logits of one token
  double attention_products = 0.0;        ///< of one token, for each that it attends to

  /// A prompt of `tokens`: the logits of the last alone are wanted.
  double prompt_products(int64_t tokens) const;
  /// One token that stands behind `depth` others.
  double token_bytes(int64_t depth) const;
};

Demand demand_of(const Model& model);

}  // namespace lathe::bench
