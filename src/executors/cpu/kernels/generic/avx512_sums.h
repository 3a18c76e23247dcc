#pragma once

#include <cstdint>

namespace lathe {
namespace {

/// 16 int32 sums that wrap around. Not __m512i, which is a vector of 64-bit numbers: through the
/// change of type GCC keeps two registers for each sum and spills a tile of them to memory.
using Avx512Sums = uint32_t __attribute__((vector_size(64)));

}  // namespace
}  // namespace lathe
