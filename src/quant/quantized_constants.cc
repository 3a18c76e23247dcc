#include "quant/quantized_constants.h"

#include <mutex>
#include <span>
#include <utility>

#include "quant/encodings.h"
#include "quant/float_blocks.h"

namespace lathe {
namespace {

FloatRows rows_of(const Shape& shape) {
  const int64_t width = shape.empty() ? 1 : shape.back();
  return {width == 0 ? 0 : elements(shape) / width, width};
}

}  // namespace

ValueRange constant_range(const Constant& constant, const Shape& shape, ThreadPool& pool) {
  const FloatRows rows = rows_of(shape);
  ValueRange range;
  std::mutex mutex;
  for_float_blocks(constant, rows, 1, pool, [&](int64_t, int64_t, std::span<const float> numbers) {
    const Scan found = scan(numbers.data(), static_cast<int64_t>(numbers.size()));
    if (!found.finite) refuse_not_finite(constant.name);
    const std::lock_guard lock(mutex);
    range.include(found.range);
  });
  return range;
}

QuantizedConstant quantize_activation(const Constant& constant, const Shape& shape,
                                      const Encoding& encoding, std::string name,
                                      ThreadPool& pool) {
  const FloatRows rows = rows_of(shape);
  const int64_t byte_count = byte_size(encoding.dtype, shape);
  const std::shared_ptr<std::byte> bytes = aligned_bytes(byte_count);
  for_float_blocks(
      constant, rows, 1, pool, [&](int64_t begin, int64_t, std::span<const float> numbers) {
        if (!scan(numbers.data(), static_cast<int64_t>(numbers.size())).finite) {
          refuse_not_finite(constant.name);
        }
        if (encoding.dtype == DType::u16) {
          to_codes(encoding, numbers,
                   reinterpret_cast<uint16_t*>(bytes.get()) + begin * rows.width);
        } else {
          to_codes(encoding, numbers, reinterpret_cast<uint8_t*>(bytes.get()) + begin * rows.width);
        }
      });
  return {encoding, code_constant(std::move(name), Layout::rows, bytes, byte_count)};
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
          code_constant(std::move(name), Layout::rows, bytes, byte_count)};
}

std::vector<float> read_all(const Constant& constant, const Shape& shape) {
  std::vector<float> numbers(static_cast<size_t>(elements(shape)));
  floats_of(constant).read(0, elements(shape), numbers.data());
  if (!scan(numbers.data(), elements(shape)).finite) refuse_not_finite(constant.name);
  return numbers;
}

}  // namespace lathe
