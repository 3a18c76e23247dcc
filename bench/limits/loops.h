#pragma once

#include <cstdint>
#include <optional>

#include "executors/cpu/kernels/isa.h"

namespace lathe::bench {

/// What the loops below take as operands: 16 KiB, aligned to 64 bytes, which the first cache holds.
inline constexpr int64_t kOperandBytes = 16384;

/// The innermost work of the kernels of one instruction set with nothing around it. Results only
/// keep the compiler from leaving work out.
struct Loops {
  const char* instruction;  ///< that the kernels multiply with
  /// Products of two bytes in one step. A 16-bit activation times an 8-bit weight is two of them.
  int64_t products_per_step;
  int32_t (*from_registers)(const uint8_t* operands, int64_t steps);
  /// One operand of every product is loaded from the first cache.
  int32_t (*from_l1)(const uint8_t* operands, int64_t steps);
  /// Reads [begin, begin + bytes) as one ascending stream and asks for memory `ahead` bytes before
  /// its use. `bytes` is a multiple of 256.
  int32_t (*read)(const uint8_t* begin, int64_t bytes, int64_t ahead);
};

/// None where the kernels have no vector instruction of their own.
std::optional<Loops> loops_for(Isa isa);

}  // namespace lathe::bench
