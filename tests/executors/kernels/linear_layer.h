#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "executors/kernels/amx_stand_in.h"
#include "executors/kernels/kernel_test.h"
#include "graph/packed_int4.h"
#include "graph/packed_weights.h"

namespace lathe {

struct NamedKernels {
  std::string name;
  const Kernels* kernels;
};

/// The kernels of every instruction set of this processor, and those of AMX by what stands in for
/// it (amx_stand_in.h).
inline std::vector<NamedKernels> kernels_with_products() {
  std::vector<NamedKernels> all;
  for (const Isa isa : available_isas())
    all.push_back({std::string(name_of(isa)), &kernels_for(isa)});
  all.push_back({"tile_model", &kernels_on_tile_model()});
  if (const Kernels* amx = trapped_amx_kernels()) all.push_back({"trapped_amx", amx});
  return all;
}

/// A test that runs once for each of them.
class ProductTest : public testing::TestWithParam<NamedKernels> {
 protected:
  const Kernels& kernels() const { return *GetParam().kernels; }
};

#define LATHE_ON_EVERY_PRODUCT(suite)                         \
  INSTANTIATE_TEST_SUITE_P(                                   \
      Isa, suite, testing::ValuesIn(kernels_with_products()), \
      [](const testing::TestParamInfo<NamedKernels>& parameter) { return parameter.param.name; })

/// A layer with its input, before packing.
struct Layer {
  int64_t rows;
  int64_t channels;
  int64_t k;
  std::vector<uint16_t> x;         // [rows, k]
  std::vector<int8_t> weights;     // [channels, k]
  std::vector<int32_t> bias;       // [channels], or empty
  std::vector<double> multiplier;  // [channels]
  int x_zero_point;
  int y_zero_point;
  int y_low = 0;
  int y_high = 65535;
  bool bytes = false;                   // x has codes of 8 bits
  std::optional<Int4Matrix> int4 = {};  // weights have 4 bits: code * factor
  std::vector<int8_t> codes = {};       // [channels, k]
  std::vector<uint8_t> factors = {};    // [channels, k / block]
};

/// Multipliers are such that outputs spread over more than the range of codes.
inline Layer random_layer(int64_t rows, int64_t channels, int64_t k, uint32_t seed) {
  Layer layer;
  layer.rows = rows;
  layer.channels = channels;
  layer.k = k;
  layer.x = random_u16(static_cast<size_t>(rows * k), seed);
  layer.weights = random_codes<int8_t>(static_cast<size_t>(channels * k), seed + 1, -127, 127);
  layer.bias =
      random_codes<int32_t>(static_cast<size_t>(channels), seed + 2, -2000000000, 2000000000);
  std::mt19937 generator(seed + 3);
  std::uniform_real_distribution<double> distribution(0.002, 0.03);
  for (int64_t n = 0; n < channels; ++n) {
    layer.multiplier.push_back(distribution(generator) / std::sqrt(static_cast<double>(k)));
  }
  layer.x_zero_point = static_cast<int>(seed * 7919 % 65536);
  layer.y_zero_point = static_cast<int>(seed * 104729 % 65536);
  return layer;
}

inline std::vector<uint16_t> expected_output(const Layer& layer) {
  std::vector<uint16_t> y;
  for (int64_t m = 0; m < layer.rows; ++m) {
    for (int64_t n = 0; n < layer.channels; ++n) {
      int64_t sum = layer.bias.empty() ? 0 : layer.bias[static_cast<size_t>(n)];
      for (int64_t i = 0; i < layer.k; ++i) {
        sum += static_cast<int64_t>(layer.x[static_cast<size_t>(m * layer.k + i)] -
                                    layer.x_zero_point) *
               layer.weights[static_cast<size_t>(n * layer.k + i)];
      }
      y.push_back(
          static_cast<uint16_t>(reference_rescale(sum, layer.multiplier[static_cast<size_t>(n)],
                                                  layer.y_zero_point, layer.y_low, layer.y_high)));
    }
  }
  return y;
}

/// The same with weights of 4 bits, in blocks of `block` columns or (0) without factors.
inline Layer random_int4_layer(int64_t rows, int64_t channels, int64_t k, int64_t block,
                               uint32_t seed) {
  Layer layer = random_layer(rows, channels, k, seed);
  layer.int4 = Int4Matrix{channels, k, block};
  layer.codes = random_codes<int8_t>(static_cast<size_t>(channels * k), seed + 4, -8, 7);
  layer.factors =
      random_codes<uint8_t>(static_cast<size_t>(channels * layer.int4->blocks()), seed + 5, 1, 16);
  for (int64_t i = 0; i < channels * k; ++i) {
    const int factor = block == 0 ? 1 : layer.factors[static_cast<size_t>(i / block)];
    layer.weights[static_cast<size_t>(i)] =
        static_cast<int8_t>(layer.codes[static_cast<size_t>(i)] * factor);
  }
  return layer;
}

/// The same with activations of 8 bits.
inline Layer with_bytes(Layer layer) {
  layer.bytes = true;
  for (uint16_t& x : layer.x) x &= 255;
  layer.x_zero_point &= 255;
  for (double& multiplier : layer.multiplier) multiplier *= 256;
  return layer;
}

/// Rows of activations as kernels read them.
class PreparedRows {
 public:
  PreparedRows(const Kernels& kernels, const Layer& layer)
      : stride_(prepared_bytes(layer.k)), memory_(static_cast<size_t>(stride_ * layer.rows)) {
    const std::vector<uint8_t> bytes(layer.x.begin(), layer.x.end());
    for (int64_t m = 0; m < layer.rows; ++m) {
      uint8_t* row = memory_.data() + m * stride_;
      if (layer.bytes) {
        kernels.prepare_bytes(bytes.data() + m * layer.k, layer.k, row);
      } else {
        kernels.prepare_activation(layer.x.data() + m * layer.k, layer.k, row);
      }
    }
  }
  const uint8_t* data() { return memory_.data(); }
  int64_t stride() const { return stride_; }

 private:
  int64_t stride_;
  Aligned<uint8_t> memory_;
};

/// A layer's weights of 4 bits, and scratch memory for a product with them.
class PackedInt4 {
 public:
  explicit PackedInt4(const Layer& layer)
      : group_bytes_(static_cast<int64_t>(int4_group_bytes(*layer.int4))),
        block_(layer.int4->block),
        groups_(int4_constant_bytes(*layer.int4)),
        scratch_(static_cast<size_t>(int4_scratch_bytes(layer.k))) {
    const Int4Matrix& matrix = *layer.int4;
    for (int64_t c = 0; c < layer.channels; c += 16) {
      pack_int4_group(layer.codes.data() + c * layer.k, layer.factors.data() + c * matrix.blocks(),
                      std::min<int64_t>(16, layer.channels - c), matrix,
                      groups_.data() + c / 16 * group_bytes_);
    }
  }
  Int4Weights weights() {
    return {reinterpret_cast<const uint8_t*>(groups_.data()), group_bytes_, block_,
            scratch_.data()};
  }

 private:
  int64_t group_bytes_;
  int64_t block_;
  Aligned<std::byte> groups_;
  Aligned<int8_t> scratch_;
};

/// Runs the layer in channel ranges of `step`, into rows that are 3 elements longer than they need
/// be, and checks that those 3 stay untouched.
inline std::vector<uint16_t> run(const Kernels& kernels, const Layer& layer, int64_t step) {
  Aligned<int8_t> packed(packed_weights_bytes(layer.channels, layer.k));
  pack_weights(layer.weights.data(), layer.channels, layer.k, packed.data());
  std::vector<int32_t> sums(static_cast<size_t>(layer.channels));
  sum_packed_weights(packed.data(), layer.channels, layer.k, sums.data());
  std::optional<PackedInt4> int4;
  if (layer.int4) int4.emplace(layer);
  PreparedRows prepared(kernels, layer);

  LinearArgs args;
  args.prepared = prepared.data();
  args.prepared_stride = prepared.stride();
  args.bytes = layer.bytes;
  args.rows = layer.rows;
  args.k = layer.k;
  if (int4) {
    args.int4 = int4->weights();
  } else {
    args.weights = packed.data();
  }
  args.weight_sums = sums.data();
  args.bias = layer.bias.empty() ? nullptr : layer.bias.data();
  args.multiplier = layer.multiplier.data();
  args.channels = layer.channels;
  args.x_zero_point = layer.x_zero_point;
  args.y_zero_point = layer.y_zero_point;
  args.y_low = layer.y_low;
  args.y_high = layer.y_high;
  args.y_stride = layer.channels + 3;
  std::vector<uint16_t> y(static_cast<size_t>(layer.rows * args.y_stride), 4711);
  args.y = y.data();
  for (int64_t n = 0; n < layer.channels; n += step) {
    (int4 ? kernels.linear_int4 : kernels.linear)(args, n, std::min(n + step, layer.channels));
  }

  std::vector<uint16_t> dense;
  for (int64_t m = 0; m < layer.rows; ++m) {
    for (int64_t n = 0; n < args.y_stride; ++n) {
      const uint16_t code = y[static_cast<size_t>(m * args.y_stride + n)];
      if (n < layer.channels) {
        dense.push_back(code);
      } else {
        EXPECT_EQ(code, 4711) << "written beyond the last channel of row " << m;
      }
    }
  }
  return dense;
}

}  // namespace lathe
