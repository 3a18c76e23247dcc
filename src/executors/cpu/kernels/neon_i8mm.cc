// Kernels for AArch64 with the int8 matrix extension: activations are split into their high and
// low bytes, each multiplied unsigned with the signed weights.

#include <arm_neon.h>

#define LATHE_NEON_I8MM 1
#include "executors/cpu/kernels/generic/neon.h"

namespace lathe {

constinit const Kernels kNeonI8mmKernels = make_table(Isa::neon_i8mm);

}  // namespace lathe
