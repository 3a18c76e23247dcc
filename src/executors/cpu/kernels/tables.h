#pragma once

#include "executors/cpu/kernels/kernels.h"

namespace lathe {

// One table per instruction set, each the only symbol that its source file exports.
extern const Kernels kPortableKernels;
#if defined(__x86_64__)
extern const Kernels kAvx2Kernels;
extern const Kernels kAvxVnniKernels;
extern const Kernels kAvx512bwKernels;
extern const Kernels kAvx512Kernels;
extern const Kernels kAmxKernels;
/// linear() in AMX tiles. Reads prepared rows up to the next multiple of 64 columns.
void linear_by_amx(const LinearArgs& args, int64_t begin, int64_t end);
#elif defined(__aarch64__)
extern const Kernels kNeonDotprodKernels;
extern const Kernels kNeonI8mmKernels;
#endif

}  // namespace lathe
