#include "quant/quantized_weights.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "graph/packed_int4.h"
#include "graph/packed_weights.h"
#include "quant/channel_codes.h"
#include "quant/float_blocks.h"
#include "support/error.h"

namespace lathe {
namespace {

using Numbers = std::span<const float>;

int32_t sum_of(const int8_t* codes, int64_t count) {
  return std::accumulate(codes, codes + count, int32_t{0});
}

/// A weight [channels, k] on its way from floats to codes.
class WeightQuantizer {
 public:
  WeightQuantizer(const Constant& weight, const Shape& shape, const WeightFormat& format,
                  const std::vector<double>& floors, std::span<const float> clips, ThreadPool& pool)
      : weight_(weight),
        channels_(shape.at(0)),
        k_(shape.at(1)),
        format_(format),
        floors_(floors),
        clips_(clips),
        pool_(pool),
        encoding_{format.dtype, std::vector<float>(static_cast<size_t>(channels_)), 0, 0,
                  format.block} {}

  QuantizedConstant run(std::string name) {
    if (format_.dtype == DType::i4) return quantize_i4(std::move(name));
    if (format_.dtype == DType::i16) return quantize_i16(std::move(name));
    return quantize_i8(std::move(name));
  }

 private:
  QuantizedConstant quantize_i8(std::string name) {
    const auto byte_count = static_cast<int64_t>(packed_constant_bytes(channels_, k_));
    const std::shared_ptr<std::byte> bytes = aligned_bytes(byte_count);
    auto* packed = reinterpret_cast<int8_t*>(bytes.get());
    int32_t* sums = packed_weight_sums(packed, channels_, k_);
    for_blocks([&](int64_t begin, int64_t end, Numbers numbers) {
      std::vector<int8_t> codes(numbers.size());  // [end - begin, k]
      for (int64_t c = begin; c < end; ++c) {
        int8_t* row = codes.data() + (c - begin) * k_;
        const Numbers weights = row_of(numbers, c - begin);
        scale(c) = channel_codes(format_, weights, bounds(c, weights), row, nullptr);
        sums[c] = sum_of(row, k_);
      }
      // A block starts on a whole group of channels, and groups follow each other.
      pack_weights(codes.data(), end - begin, k_, packed + packed_weights_bytes(begin, k_));
    });
    return finish(std::move(name), Layout::packed, bytes, byte_count);
  }

  QuantizedConstant quantize_i4(std::string name) {
    const Int4Matrix matrix{channels_, k_, format_.block};
    const auto byte_count = static_cast<int64_t>(int4_constant_bytes(matrix));
    const std::shared_ptr<std::byte> bytes = aligned_bytes(byte_count);
    int32_t* sums = int4_sums(bytes.get(), matrix);
    for_blocks([&](int64_t begin, int64_t end, Numbers numbers) {
      std::vector<int8_t> codes(static_cast<size_t>(kPackedChannels * k_));  // [16, k]
      std::vector<uint8_t> factors(static_cast<size_t>(kPackedChannels * matrix.blocks()));
      for (int64_t first = begin; first < end; first += kPackedChannels) {
        const int64_t count = std::min(kPackedChannels, end - first);
        for (int64_t i = 0; i < count; ++i) {
          const Numbers weights = row_of(numbers, first + i - begin);
          int8_t* row = codes.data() + i * k_;
          uint8_t* row_factors = factors.data() + i * matrix.blocks();
          scale(first + i) =
              channel_codes(format_, weights, bounds(first + i, weights), row, row_factors);
          sums[first + i] = weighted_sum(row, row_factors);
        }
        const auto group = static_cast<size_t>(first / kPackedChannels);
        pack_int4_group(codes.data(), factors.data(), count, matrix,
                        bytes.get() + group * int4_group_bytes(matrix));
      }
    });
    return finish(std::move(name), Layout::packed, bytes, byte_count);
  }

  QuantizedConstant quantize_i16(std::string name) {
    const int64_t byte_count = byte_size(DType::i16, {channels_, k_});
    const std::shared_ptr<std::byte> bytes = aligned_bytes(byte_count);
    for_blocks([&](int64_t begin, int64_t end, Numbers numbers) {
      for (int64_t c = begin; c < end; ++c) {
        const Numbers weights = row_of(numbers, c - begin);
        scale(c) = channel_codes(format_, weights, bounds(c, weights),
                                 reinterpret_cast<int16_t*>(bytes.get()) + c * k_);
      }
    });
    return finish(std::move(name), Layout::rows, bytes, byte_count);
  }

  /// The sum of code * factor of one channel of i4 weights.
  int32_t weighted_sum(const int8_t* codes, const uint8_t* factors) const {
    if (format_.block == 0) return sum_of(codes, k_);
    int32_t sum = 0;
    for (int64_t b = 0; b < k_ / format_.block; ++b) {
      sum += factors[b] * sum_of(codes + b * format_.block, format_.block);
    }
    return sum;
  }

  ChannelBounds bounds(int64_t channel, Numbers weights) const {
    const auto c = static_cast<size_t>(channel);
    ChannelBounds bounds{magnitudes(format_, weights, weight_.name)};
    if (!clips_.empty()) bounds.clip = clips_[c];
    if (!floors_.empty()) bounds.floor = floors_[c];
    return bounds;
  }

  float& scale(int64_t channel) { return encoding_.scale[static_cast<size_t>(channel)]; }

  Numbers row_of(Numbers numbers, int64_t row) const {
    return numbers.subspan(static_cast<size_t>(row * k_), static_cast<size_t>(k_));
  }

  template <typename Body>
  void for_blocks(const Body& body) {
    for_float_blocks(weight_, {channels_, k_}, kPackedChannels, pool_, body);
  }

  QuantizedConstant finish(std::string name, Layout layout, std::shared_ptr<std::byte> bytes,
                           int64_t byte_count) {
    return {std::move(encoding_),
            code_constant(std::move(name), layout, std::move(bytes), byte_count)};
  }

  const Constant& weight_;
  int64_t channels_;
  int64_t k_;
  WeightFormat format_;
  const std::vector<double>& floors_;
  std::span<const float> clips_;
  ThreadPool& pool_;
  Encoding encoding_;
};

}  // namespace

QuantizedConstant quantize_weight(const Constant& weight, const Shape& shape,
                                  const WeightFormat& format, const std::vector<double>& floors,
                                  std::string name, ThreadPool& pool,
                                  std::span<const float> clips) {
  require_whole_blocks(format, shape.at(1), weight.name);
  return WeightQuantizer(weight, shape, format, floors, clips, pool).run(std::move(name));
}

void require_whole_blocks(const WeightFormat& format, int64_t k, const std::string& weight) {
  if (format.block == 0 || (k > 0 && k % format.block == 0)) return;
  fail({.what = "the block size does not divide the input features of a weight",
        .where = weight,
        .expected = "a multiple of " + std::to_string(format.block),
        .found = std::to_string(k),
        .advice = "give this weight a format per channel, or take smaller blocks"});
}

}  // namespace lathe
