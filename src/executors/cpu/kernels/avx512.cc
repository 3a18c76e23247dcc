// Kernels for AVX-512 with VNNI, which multiplies four bytes at once (vpdpbusd, which wraps around
// and does not saturate).

#include "executors/cpu/kernels/generic/vnni512.h"
#include "executors/cpu/kernels/generic/without_tiles.h"

namespace lathe {

constinit const Kernels kAvx512Kernels = make_table(Isa::avx512);

}  // namespace lathe
