// Kernels for AVX-512 with VNNI, which multiplies four bytes at once (vpdpbusd, which wraps around
// and does not saturate).

#include "executors/cpu/kernels/generic/vnni512.h"

namespace lathe {
namespace {

void linear(const LinearArgs& args, int64_t begin, int64_t end) noexcept {
  linear_by_vectors(args, begin, end);
}

}  // namespace
}  // namespace lathe

#include "executors/cpu/kernels/generic/every_kernel.h"

namespace lathe {

constinit const Kernels kAvx512Kernels = make_table(Isa::avx512);

}  // namespace lathe
