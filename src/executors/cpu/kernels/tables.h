#pragma once

#include "executors/cpu/kernels/kernels.h"

namespace lathe {

// One table per instruction set, each the only symbol that its source file exports.
extern const Kernels kPortableKernels;
#if defined(__x86_64__)
extern const Kernels kAvx2Kernels;
extern const Kernels kAvx512Kernels;
#elif defined(__aarch64__)
extern const Kernels kNeonDotprodKernels;
extern const Kernels kNeonI8mmKernels;
#endif

}  // namespace lathe
