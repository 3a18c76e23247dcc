#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "graph/graph.h"

namespace lathe {

/// Takes the next bytes of a tensor.
using ByteSink = std::function<void(std::span<const std::byte>)>;

/// The elements of a constant in row-major order as ONNX stores them, whatever layout they have in
/// memory, piece by piece: a model's weights are never unpacked as a whole. i4 is two elements a
/// byte, low nibble first. Throws Error for a constant without data.
void write_rows(const Value& constant, const ByteSink& sink);
int64_t row_bytes(const Value& constant);  ///< how many that are

/// The scales f32 [N, K / block] of the blocks of packed i4 weights [N, K]: factor * scale[n].
void write_block_scales(const Value& weights, const ByteSink& sink);

}  // namespace lathe
