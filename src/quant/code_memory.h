#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "graph/constant.h"

namespace lathe {

/// Memory from a multiple of 64 bytes on, which matrix kernels ask of packed weights.
std::shared_ptr<std::byte> aligned_bytes(int64_t count);

/// A constant of codes; shares `bytes`.
std::shared_ptr<const Constant> code_constant(std::string name, Layout layout,
                                              std::shared_ptr<const std::byte> bytes,
                                              int64_t byte_count);

}  // namespace lathe
