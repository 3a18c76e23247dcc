#pragma once

#include <cstddef>
#include <memory>

#include "graph/graph.h"

namespace lathe {

/// The constant of packed i4 weights as the one of i8 weights that it is exactly
/// (graph/packed_int4.h), from a multiple of 64 bytes on. Sessions of one model share it: it is
/// made where nobody has it yet and stays for as long as somebody does. Safe to call from several
/// threads.
std::shared_ptr<const std::byte> expanded_weights(const Value& weight);

}  // namespace lathe
