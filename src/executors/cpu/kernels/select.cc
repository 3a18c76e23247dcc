#include <algorithm>
#include <cstdlib>
#include <string>

#include "executors/cpu/kernels/generic/attention_scratch.h"
#include "executors/cpu/kernels/generic/expand_int4.h"
#include "executors/cpu/kernels/kernels.h"
#include "executors/cpu/kernels/tables.h"
#include "support/error.h"

namespace lathe {
namespace {

const Kernels& choose() {
  const std::vector<Isa> available = available_isas();
  const char* wanted = std::getenv("LATHE_ISA");
  if (wanted == nullptr) return kernels_for(available.back());
  const std::optional<Isa> isa = isa_named(wanted);
  if (isa && std::find(available.begin(), available.end(), *isa) != available.end()) {
    return kernels_for(*isa);
  }
  std::string names;
  for (const Isa one : available) {
    names += (names.empty() ? "" : one == available.back() ? " or " : ", ");
    names += name_of(one);
  }
  fail(
      {.what = isa ? "this processor does not have the instruction set" : "no such instruction set",
       .where = "environment variable LATHE_ISA",
       .expected = names,
       .found = printable(wanted, 40),
       .advice = "unset it to use the fastest"});
}

}  // namespace

int64_t prepared_bytes(int64_t k) { return 2 * round_up(k, 64); }

int64_t int4_scratch_bytes(int64_t k) { return kExpandedChannels * round_up(k, 8); }

size_t attention_scratch_bytes(int64_t head_dim, int64_t heads, int64_t rows, int64_t columns) {
  return static_cast<size_t>(AttentionScratch(nullptr, head_dim, heads, rows, columns).bytes());
}

int64_t matmul_scratch_numbers(const MatmulArgs& args) {
  return args.b_by_column ? (1 + args.heads * args.rows) * round_up(args.depth, kLanes)
                          : args.columns;
}

const Kernels& kernels_for(Isa isa) {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::avx2:
      return kAvx2Kernels;
    case Isa::avxvnni:
      return kAvxVnniKernels;
    case Isa::avx512bw:
      return kAvx512bwKernels;
    case Isa::avx512:
      return kAvx512Kernels;
    case Isa::amx:
      return kAmxKernels;
#elif defined(__aarch64__)
    case Isa::neon_dotprod:
      return kNeonDotprodKernels;
    case Isa::neon_i8mm:
      return kNeonI8mmKernels;
#endif
    default:
      return kPortableKernels;
  }
}

const Kernels& select_kernels() {
  static const Kernels& chosen = choose();
  return chosen;
}

}  // namespace lathe
