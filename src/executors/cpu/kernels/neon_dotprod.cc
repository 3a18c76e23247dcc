// Kernels for AArch64 with the dot product instructions of Armv8.2: activations are split into
// their high and low bytes, each made signed by subtracting 128 and multiplied with the weights.

#include <arm_neon.h>

#define LATHE_NEON_I8MM 0
#include "executors/cpu/kernels/generic/neon.h"

namespace lathe {

constinit const Kernels kNeonDotprodKernels = make_table(Isa::neon_dotprod);

}  // namespace lathe
