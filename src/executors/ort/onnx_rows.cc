#include "executors/ort/onnx_rows.h"

#include <algorithm>
#include <vector>

#include "graph/packed_int4.h"
#include "graph/packed_weights.h"
#include "graph/stored_bytes.h"
#include "support/error.h"

namespace lathe {
namespace {

const std::byte* bytes_of(const Value& value) {
  if (value.constant->bytes == nullptr) {
    fail({.what = "a constant without codes cannot be exported", .where = value.name});
  }
  return value.constant->bytes.get();
}

/// Calls body(first, count) for every group of 16 channels.
template <typename Body>
void for_groups(int64_t channels, const Body& body) {
  for (int64_t first = 0; first < channels; first += kPackedChannels) {
    body(first, std::min(kPackedChannels, channels - first));
  }
}

void write_packed_i8(const Value& value, const ByteSink& sink) {
  const int64_t k = value.shape[1];
  const auto* packed = reinterpret_cast<const int8_t*>(bytes_of(value));
  std::vector<int8_t> rows(static_cast<size_t>(kPackedChannels * k));  // [16, K]
  for_groups(value.shape[0], [&](int64_t first, int64_t count) {
    unpack_weights(packed + packed_weights_bytes(first, k), count, k, rows.data());
    sink(std::as_bytes(std::span(rows).first(static_cast<size_t>(count * k))));
  });
}

/// Calls body(first channel, codes [count, K], factors [count, K / block]) for every group.
template <typename Body>
void for_int4_groups(const Value& value, const Body& body) {
  const Int4Matrix matrix = int4_matrix(value);
  const std::byte* group = bytes_of(value);
  std::vector<int8_t> codes(static_cast<size_t>(kPackedChannels * matrix.k));
  std::vector<uint8_t> factors(static_cast<size_t>(kPackedChannels * matrix.blocks()));
  for_groups(matrix.channels, [&](int64_t first, int64_t count) {
    unpack_int4_group(group, count, matrix, codes.data(), factors.data());
    group += int4_group_bytes(matrix);
    body(first, std::span(codes).first(static_cast<size_t>(count * matrix.k)),
         std::span(factors).first(static_cast<size_t>(count * matrix.blocks())));
  });
}

void write_packed_i4(const Value& value, const ByteSink& sink) {
  std::vector<std::byte> nibbles;
  // A group of 16 channels ends on a whole byte.
  for_int4_groups(value, [&](int64_t, std::span<const int8_t> codes, std::span<const uint8_t>) {
    nibbles.assign((codes.size() + 1) / 2, std::byte{0});
    for (size_t i = 0; i < codes.size(); ++i) {
      nibbles[i / 2] |= static_cast<std::byte>((codes[i] & 15) << (i % 2 == 0 ? 0 : 4));
    }
    sink(nibbles);
  });
}

}  // namespace

void write_rows(const Value& constant, const ByteSink& sink) {
  if (constant.constant->layout == Layout::rows) {
    const auto size = static_cast<size_t>(byte_size(constant.dtype, constant.shape));
    sink({bytes_of(constant), size});
  } else if (constant.dtype == DType::i4) {
    write_packed_i4(constant, sink);
  } else {
    write_packed_i8(constant, sink);
  }
}

int64_t row_bytes(const Value& constant) { return byte_size(constant.dtype, constant.shape); }

void write_block_scales(const Value& weights, const ByteSink& sink) {
  const int64_t blocks = int4_matrix(weights).blocks();
  std::vector<float> scales;
  for_int4_groups(
      weights, [&](int64_t first, std::span<const int8_t>, std::span<const uint8_t> factors) {
        scales.resize(factors.size());
        for (size_t i = 0; i < factors.size(); ++i) {
          const size_t channel = static_cast<size_t>(first) + i / static_cast<size_t>(blocks);
          scales[i] = weights.encoding->scale[channel] * static_cast<float>(factors[i]);
        }
        sink(std::as_bytes(std::span(scales)));
      });
}

}  // namespace lathe
