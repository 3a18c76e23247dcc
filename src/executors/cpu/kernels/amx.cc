// Kernels for AVX-512 with VNNI and AMX: products of several rows go through tiles (amx_tiles.cc),
// everything else is as on AVX-512.

#include "executors/cpu/kernels/generic/vnni512.h"
#include "executors/cpu/kernels/tables.h"

namespace lathe {
namespace {

/// A tile takes as long for one row as for 16 (Intel's optimization manual gives a product of tiles
/// 16 cycles), a vector product of both planes two instructions a row.
constexpr int64_t kFewRows = 4;

void linear(const LinearArgs& args, int64_t begin, int64_t end) noexcept {
  if (args.rows <= kFewRows) {
    linear_by_vectors(args, begin, end);
  } else {
    linear_by_amx(args, begin, end);
  }
}

}  // namespace
}  // namespace lathe

#include "executors/cpu/kernels/generic/every_kernel.h"

namespace lathe {

constinit const Kernels kAmxKernels = make_table(Isa::amx);

}  // namespace lathe
