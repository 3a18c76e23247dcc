#include "executors/cpu/kernels/isa.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace lathe {
namespace {

constexpr Isa kAll[] = {Isa::portable, Isa::avx2, Isa::avxvnni,      Isa::avx512bw,
                        Isa::avx512,   Isa::amx,  Isa::neon_dotprod, Isa::neon_i8mm};

#if defined(__x86_64__)

/// XCR0: which register states the operating system saves. Call only where CPUID says OSXSAVE.
uint64_t saved_states() {
  uint32_t low = 0;
  uint32_t high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<uint64_t>(high) << 32) | low;
}

bool has_all(uint64_t value, uint64_t bits) { return (value & bits) == bits; }

/// Whether the kernel lets this process use the registers of AMX. It makes room for them once it is
/// asked (Documentation/arch/x86/xstate.rst); without that, the first tile instruction ends the
/// process.
bool tiles_are_permitted() {
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;               // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

struct Cpuid {
  unsigned a = 0, b = 0, c = 0, d = 0;
  Cpuid(unsigned leaf, unsigned subleaf) { __get_cpuid_count(leaf, subleaf, &a, &b, &c, &d); }
};

bool available(Isa isa) {
  if (isa == Isa::portable) return true;
  constexpr uint64_t kYmmStates = 0x6;       // SSE and AVX
  constexpr uint64_t kZmmStates = 0xE6;      // and the masks and both halves of AVX-512
  constexpr uint64_t kTileStates = 0x60000;  // configuration and data of tiles
  const Cpuid base(1, 0);
  const Cpuid more(7, 0);
  if ((base.c & bit_OSXSAVE) == 0) return false;
  const uint64_t states = saved_states();
  const bool avx2 =
      has_all(states, kYmmStates) && (base.c & bit_AVX) != 0 && (more.b & bit_AVX2) != 0;
  const bool avx512bw = avx2 && has_all(states, kZmmStates) &&
                        has_all(base.c, bit_FMA | bit_F16C) &&
                        has_all(more.b, bit_AVX512F | bit_AVX512BW | bit_AVX512VL | bit_AVX512DQ);
  const bool avx512 = avx512bw && (more.c & bit_AVX512VNNI) != 0;
  switch (isa) {
    case Isa::avx2:
      return avx2;
    case Isa::avxvnni:
      return avx2 && (Cpuid(7, 1).a & bit_AVXVNNI) != 0;
    case Isa::avx512bw:
      return avx512bw;
    case Isa::avx512:
      return avx512;
    case Isa::amx:
      return avx512 && has_all(more.d, bit_AMX_TILE | bit_AMX_INT8) &&
             has_all(states, kTileStates) && tiles_are_permitted();
    default:
      return false;
  }
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
    case Isa::avxvnni:
      return "avxvnni";
    case Isa::avx512bw:
      return "avx512bw";
    case Isa::avx512:
      return "avx512";
    case Isa::amx:
      return "amx";
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
