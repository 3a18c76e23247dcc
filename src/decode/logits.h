#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "decode/graph_io.h"

namespace lathe {

/// The logits of one position as the graph gave them. Owns nothing: valid until the graph runs
/// again.
struct LogitsRow {
  ValueFormat format;
  const std::byte* data = nullptr;  // [vocab]
  int64_t vocab = 0;
};

/// Id of the largest logit, the lowest such id where several are equal. Works on the codes, whose
/// order is that of the real values. NaN counts as smaller than everything.
int64_t argmax(const LogitsRow& logits);

/// Writes the real values to `values` [vocab].
void dequantize(const LogitsRow& logits, std::span<float> values);

}  // namespace lathe
