// Kernels in plain C++: for processors without the vector sets below, and the yardstick for those.

#include <cstring>

#include "executors/cpu/kernels/generic/attention_scratch.h"
#include "executors/cpu/kernels/generic/finish_linear.h"

namespace lathe {
namespace {

/// Activations are prepared as x - 32768, which is a signed 16-bit number.
constexpr int32_t kPreparedOffset = 32768;

/// Products of 16 by 8 bits reach 2^22: this many sum without overflow.
constexpr int64_t kSafeDepth = 508;

void prepare_activation(const uint16_t* x, int64_t k, uint8_t* prepared) noexcept {
  int16_t* out = reinterpret_cast<int16_t*>(prepared);
  for (int64_t i = 0; i < k; ++i) out[i] = static_cast<int16_t>(x[i] - kPreparedOffset);
  for (int64_t i = k; i < round_up(k, 4); ++i) out[i] = 0;
}

/// sums[16] += prepared x [depth] times one packed group; depth is a multiple of 4.
inline void add_group(const int16_t* x, const int8_t* packed, int64_t depth, uint32_t* sums) {
  for (int64_t i = 0; i < depth; i += 4) {
    for (int c = 0; c < 16; ++c) {
      int32_t sum = 0;
      for (int j = 0; j < 4; ++j) sum += x[i + j] * packed[i * 16 + c * 4 + j];
      sums[c] += static_cast<uint32_t>(sum);
    }
  }
}

void linear(const LinearArgs& args, int64_t begin, int64_t end) noexcept {
  const int64_t depth = round_up(args.k, 4);
  for (int64_t n = begin; n < end; n += 16) {
    const ChannelGroup group = channel_group(args, n, kPreparedOffset);
    const int8_t* packed = args.weights + n * depth;
    for (int64_t row = 0; row < args.rows; ++row) {
      const int16_t* x =
          reinterpret_cast<const int16_t*>(args.prepared + row * args.prepared_stride);
      double total[16] = {};
      for (int64_t at = 0; at < depth; at += kSafeDepth) {
        uint32_t sums[16] = {};
        add_group(x + at, packed + at * 16, smaller(kSafeDepth, depth - at), sums);
        for (int c = 0; c < 16; ++c) total[c] += static_cast<int32_t>(sums[c]);
      }
      finish_group(total, group, args, args.y + row * args.y_stride + n);
    }
  }
}

/// Weights are expanded even for one row.
bool linear_int4_row(const LinearArgs&, int64_t, int64_t) { return false; }

/// packed [depth / 4][4 groups][16][4]
void pack_block(const uint8_t* source, int64_t stride, int64_t depth, int64_t width,
                int64_t /*next*/, int8_t* packed, int32_t* sums) {
  std::memset(packed, 0, static_cast<size_t>(round_up(depth, 4) * kBlock));
  std::memset(sums, 0, kBlock * sizeof(int32_t));
  for (int64_t i = 0; i < depth; ++i) {
    for (int64_t c = 0; c < width; ++c) {
      const int32_t w = source[i * stride + c] - 128;
      packed[(i / 4 * kBlock + c) * 4 + i % 4] = static_cast<int8_t>(w);
      sums[c] += w;
    }
  }
}

void dot_block(const uint8_t* prepared, const int8_t* packed, int64_t depth, int32_t* out) {
  const int16_t* x = reinterpret_cast<const int16_t*>(prepared);
  uint32_t sums[kBlock] = {};
  for (int64_t i = 0; i < depth; i += 4) {
    for (int64_t group = 0; group < kBlock; group += 16) {
      add_group(x + i, packed + i * kBlock + group * 4, 4, sums + group);
    }
  }
  for (int64_t c = 0; c < kBlock; ++c) out[c] = static_cast<int32_t>(sums[c]);
}

}  // namespace
}  // namespace lathe

#include "executors/cpu/kernels/generic/bytes_as_codes.h"
#include "executors/cpu/kernels/generic/every_kernel.h"

namespace lathe {

constinit const Kernels kPortableKernels = make_table(Isa::portable);

}  // namespace lathe
