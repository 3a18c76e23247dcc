#include "quant/quantized_constants.h"

#include <algorithm>
#include <mutex>
#include <new>
#include <numeric>
#include <span>
#include <utility>

#include "graph/packed_weights.h"
#include "quant/encodings.h"
#include "quant/row_blocks.h"
#include "support/error.h"

namespace lathe {
namespace {

constexpr int64_t kBlockElements = 1 << 16;  // float32 read at a time by one thread: 256 KiB
constexpr std::align_val_t kAlignment{64};   // what matrix kernels ask of packed weights

struct Rows {
  int64_t count = 0;
  int64_t width = 0;
};

Rows rows_of(const Shape& shape) {
  const int64_t width = shape.empty() ? 1 : shape.back();
  return {width == 0 ? 0 : elements(shape) / width, width};
}

/// Rows that one thread reads at a time, a multiple of `unit`.
int64_t block_rows(int64_t width, int64_t unit) {
  return std::max<int64_t>(kBlockElements / std::max<int64_t>(width, 1) / unit, 1) * unit;
}

[[noreturn]] void refuse_not_finite(const Constant& constant) {
  fail({.what = "a number is NaN or infinite", .where = constant.name});
}

const FloatSource& floats_of(const Constant& constant) {
  if (constant.floats == nullptr) {
    fail({.what = "a constant without float data cannot be quantized", .where = constant.name});
  }
  return *constant.floats;
}

std::shared_ptr<std::byte> aligned_bytes(int64_t count) {
  auto* bytes = static_cast<std::byte*>(::operator new(static_cast<size_t>(count), kAlignment));
  return {bytes, [](std::byte* p) { ::operator delete(p, kAlignment); }};
}

std::shared_ptr<const Constant> make_constant(std::string name, Layout layout,
                                              std::shared_ptr<const std::byte> bytes,
                                              int64_t byte_count) {
  auto constant = std::make_shared<Constant>();
  constant->name = std::move(name);
  constant->layout = layout;
  constant->bytes = std::move(bytes);
  constant->byte_count = byte_count;
  return constant;
}

/// Calls body(first row, numbers) with every block of rows of the constant.
template <typename Body>
void for_float_blocks(const Constant& constant, const Rows& rows, int64_t unit, ThreadPool& pool,
                      const Body& body) {
  const FloatSource& source = floats_of(constant);
  for_row_blocks(pool, rows.count, block_rows(rows.width, unit), [&](int64_t begin, int64_t end) {
    std::vector<float> numbers(static_cast<size_t>((end - begin) * rows.width));
    source.read(begin * rows.width, (end - begin) * rows.width, numbers.data());
    body(begin, std::span<const float>(numbers));
  });
}

}  // namespace

ValueRange constant_range(const Constant& constant, const Shape& shape, ThreadPool& pool) {
  const Rows rows = rows_of(shape);
  ValueRange range;
  std::mutex mutex;
  for_float_blocks(constant, rows, 1, pool, [&](int64_t, std::span<const float> numbers) {
    const Scan found = scan(numbers.data(), static_cast<int64_t>(numbers.size()));
    if (!found.finite) refuse_not_finite(constant);
    const std::lock_guard lock(mutex);
    range.include(found.range);
  });
  return range;
}

QuantizedConstant quantize_weight(const Constant& weight, const Shape& shape,
                                  const std::vector<double>& floors, std::string name,
                                  ThreadPool& pool) {
  const int64_t channels = shape.at(0);
  const int64_t k = shape.at(1);
  const auto byte_count = static_cast<int64_t>(packed_constant_bytes(channels, k));
  const std::shared_ptr<std::byte> packed = aligned_bytes(byte_count);
  int32_t* sums = packed_weight_sums(reinterpret_cast<int8_t*>(packed.get()), channels, k);
  Encoding encoding{DType::i8, std::vector<float>(static_cast<size_t>(channels)), 0, 0};

  for_float_blocks(
      weight, {channels, k}, kPackedChannels, pool,
      [&](int64_t begin, std::span<const float> numbers) {
        const auto width = static_cast<size_t>(k);
        const size_t rows = numbers.size() / width;
        std::vector<int8_t> codes(numbers.size());  // [rows, k]
        for (size_t row = 0; row < rows; ++row) {
          const std::span<const float> channel = numbers.subspan(row * width, width);
          const Scan found = scan(channel.data(), k);
          if (!found.finite) refuse_not_finite(weight);
          const size_t c = static_cast<size_t>(begin) + row;
          encoding.scale[c] =
              channel_scale(found.range.max_abs(), floors.empty() ? 0.0 : floors[c]);
          int8_t* codes_of_channel = codes.data() + row * width;
          channel_codes(encoding.scale[c], channel, codes_of_channel);
          sums[c] = std::accumulate(codes_of_channel, codes_of_channel + width, int32_t{0});
        }
        // A block starts on a whole group of channels, and groups follow each other.
        std::byte* to = packed.get() + packed_weights_bytes(begin, k);
        pack_weights(codes.data(), static_cast<int64_t>(rows), k, reinterpret_cast<int8_t*>(to));
      });
  return {std::move(encoding), make_constant(std::move(name), Layout::packed, packed, byte_count)};
}

QuantizedConstant quantize_activation(const Constant& constant, const Shape& shape,
                                      const Encoding& encoding, std::string name,
                                      ThreadPool& pool) {
  const Rows rows = rows_of(shape);
  const int64_t byte_count = byte_size(encoding.dtype, shape);
  const std::shared_ptr<std::byte> bytes = aligned_bytes(byte_count);
  for_float_blocks(constant, rows, 1, pool, [&](int64_t begin, std::span<const float> numbers) {
    if (!scan(numbers.data(), static_cast<int64_t>(numbers.size())).finite) {
      refuse_not_finite(constant);
    }
    if (encoding.dtype == DType::u16) {
      to_codes(encoding, numbers, reinterpret_cast<uint16_t*>(bytes.get()) + begin * rows.width);
    } else {
      to_codes(encoding, numbers, reinterpret_cast<uint8_t*>(bytes.get()) + begin * rows.width);
    }
  });
  return {encoding, make_constant(std::move(name), Layout::rows, bytes, byte_count)};
}

QuantizedConstant quantize_bias(const std::vector<float>& bias, const Encoding& input,
                                const Encoding& weight, std::string name) {
  const auto byte_count = static_cast<int64_t>(bias.size() * sizeof(int32_t));
  const std::shared_ptr<std::byte> bytes = aligned_bytes(byte_count);
  auto* codes = reinterpret_cast<int32_t*>(bytes.get());
  for (size_t c = 0; c < bias.size(); ++c) {
    codes[c] = bias_code(bias[c], input.scale.at(0), weight.scale.at(c));
  }
  return {bias_encoding(input, weight),
          make_constant(std::move(name), Layout::rows, bytes, byte_count)};
}

std::vector<float> read_all(const Constant& constant, const Shape& shape) {
  std::vector<float> numbers(static_cast<size_t>(elements(shape)));
  floats_of(constant).read(0, elements(shape), numbers.data());
  if (!scan(numbers.data(), elements(shape)).finite) refuse_not_finite(constant);
  return numbers;
}

}  // namespace lathe
