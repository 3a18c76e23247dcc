#pragma once

// All kernels of an instruction set without tiles: rows are multiplied by its vectors alone
// (byte_planes.h).

#include "executors/cpu/kernels/generic/byte_planes.h"

namespace lathe {
namespace {

void linear(const LinearArgs& args, int64_t begin, int64_t end) noexcept {
  linear_by_vectors(args, begin, end);
}

}  // namespace
}  // namespace lathe

#include "executors/cpu/kernels/generic/every_kernel.h"
