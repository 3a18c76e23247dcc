#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace lathe {

/// The instruction sets that kernels exist for. Results are the same on every one.
enum class Isa {
  portable,
  avx2,
  avxvnni,       ///< and AVX-VNNI: dot products of bytes
  avx512bw,      ///< F, BW, VL and DQ
  avx512,        ///< and VNNI
  amx,           ///< and AMX with its products of bytes, which the operating system has to permit
  neon_dotprod,  ///< Armv8.2 dot product
  neon_i8mm      ///< and the mixed-sign products of the int8 matrix extension
};

/// "portable", "avx2", "avxvnni", "avx512bw", "avx512", "amx", "neon_dotprod", "neon_i8mm"
std::string_view name_of(Isa isa);
std::optional<Isa> isa_named(std::string_view name);

/// What this processor has and its operating system saves the registers of, slowest first.
/// Isa::portable is always there.
std::vector<Isa> available_isas();

}  // namespace lathe
