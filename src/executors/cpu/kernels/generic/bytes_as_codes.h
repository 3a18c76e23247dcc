#pragma once

#include "executors/cpu/kernels/generic/numeric.h"

namespace lathe {
namespace {

/// prepare_bytes() where a row of 8-bit codes is prepared as the 16-bit codes of the same numbers:
/// for kernels that multiply with 16 bits at once.
void prepare_bytes(const uint8_t* x, int64_t k, uint8_t* prepared) noexcept {
  constexpr int64_t kPiece = 64;
  uint16_t codes[kPiece];
  for (int64_t i = 0; i < k; i += kPiece) {
    const int64_t count = smaller(kPiece, k - i);
    for (int64_t j = 0; j < count; ++j) codes[j] = x[i + j];
    prepare_activation(codes, count, prepared + 2 * i);
  }
}

}  // namespace
}  // namespace lathe
