#include "executors/cpu/kernels/isa.h"

#if defined(__x86_64__)
#include <cpuid.h>

#include <cstdint>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace lathe {
namespace {

constexpr Isa kAll[] = {Isa::portable, Isa::avx2, Isa::avx512, Isa::neon_dotprod, Isa::neon_i8mm};

#if defined(__x86_64__)

/// XCR0: which register states the operating system saves. Call only where CPUID says OSXSAVE.
uint64_t saved_states() {
  uint32_t low = 0;
  uint32_t high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<uint64_t>(high) << 32) | low;
}

bool has_all(uint64_t value, uint64_t bits) { return (value & bits) == bits; }

bool available(Isa isa) {
  if (isa == Isa::portable) return true;
  constexpr uint64_t kYmmStates = 0x6;   // SSE and AVX
  constexpr uint64_t kZmmStates = 0xE6;  // and the masks and both halves of AVX-512
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_OSXSAVE) == 0) return false;
  const unsigned base = c;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  const uint64_t states = saved_states();
  if (isa == Isa::avx2) {
    return has_all(states, kYmmStates) && (base & bit_AVX) != 0 && (b & bit_AVX2) != 0;
  }
  if (isa == Isa::avx512) {
    return has_all(states, kZmmStates) && has_all(base, bit_FMA | bit_F16C) &&
           has_all(b, bit_AVX2 | bit_AVX512F | bit_AVX512BW | bit_AVX512VL | bit_AVX512DQ) &&
           (c & bit_AVX512VNNI) != 0;
  }
  return false;
}

#elif defined(__aarch64__)

bool available(Isa isa) {
  if (isa == Isa::portable) return true;
  const bool dot_product = (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
  if (isa == Isa::neon_dotprod) return dot_product;
  if (isa == Isa::neon_i8mm) return dot_product && (getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0;
  return false;
}

#else

bool available(Isa isa) { return isa == Isa::portable; }

#endif

}  // namespace

std::string_view name_of(Isa isa) {
  switch (isa) {
    case Isa::portable:
      return "portable";
    case Isa::avx2:
      return "avx2";
    case Isa::avx512:
      return "avx512";
    case Isa::neon_dotprod:
      return "neon_dotprod";
    case Isa::neon_i8mm:
      return "neon_i8mm";
  }
  return "portable";
}

std::optional<Isa> isa_named(std::string_view name) {
  for (const Isa isa : kAll) {
    if (name_of(isa) == name) return isa;
  }
  return std::nullopt;
}

std::vector<Isa> available_isas() {
  std::vector<Isa> found;
  for (const Isa isa : kAll) {
    if (available(isa)) found.push_back(isa);
  }
  return found;
}

}  // namespace lathe
