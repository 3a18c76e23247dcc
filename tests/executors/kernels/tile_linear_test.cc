// The products in AMX tiles, on a model of the instructions in plain C++: few machines have them.

#include "executors/cpu/kernels/generic/tile_linear.h"

#include <algorithm>
#include <cstring>

#include "executors/kernels/linear_layer.h"

namespace lathe {
namespace {

/// Eight tiles as Intel's manual has them: TILEZERO, TILELOADD, TDPBUSD and TILESTORED.
class ModelTiles {
 public:
  explicit ModelTiles(int64_t rows) {
    for (int tile = 0; tile < 8; ++tile) tiles_[tile].rows = tile < 6 ? rows : 16;
  }
  template <int kTile>
  static void zero() {
    std::memset(tiles_[kTile].bytes, 0, sizeof(tiles_[kTile].bytes));
  }
  template <int kTile>
  static void load(const void* memory, int64_t stride) {
    for (int64_t row = 0; row < tiles_[kTile].rows; ++row) {
      std::memcpy(tiles_[kTile].bytes[row], static_cast<const uint8_t*>(memory) + row * stride, 64);
    }
  }
  template <int kSums, int kA, int kB>
  static void dot() {
    for (int64_t m = 0; m < tiles_[kSums].rows; ++m) {
      for (int64_t k = 0; k < 16; ++k) {
        for (int64_t n = 0; n < 16; ++n) {
          uint32_t sum = 0;
          std::memcpy(&sum, tiles_[kSums].bytes[m] + 4 * n, sizeof(sum));
          for (int64_t j = 0; j < 4; ++j) {
            const int32_t a = tiles_[kA].bytes[m][4 * k + j];
            const auto b = static_cast<int8_t>(tiles_[kB].bytes[k][4 * n + j]);
            sum += static_cast<uint32_t>(a * b);
          }
          std::memcpy(tiles_[kSums].bytes[m] + 4 * n, &sum, sizeof(sum));
        }
      }
    }
  }
  template <int kTile>
  static void store(void* memory, int64_t stride) {
    for (int64_t row = 0; row < tiles_[kTile].rows; ++row) {
      std::memcpy(static_cast<uint8_t*>(memory) + row * stride, tiles_[kTile].bytes[row], 64);
    }
  }

 private:
  struct Tile {
    int64_t rows;
    uint8_t bytes[16][64];
  };
  static inline Tile tiles_[8];
};

/// [k / 64][64 high bytes, 64 low bytes], and zeros up to the next multiple of 64.
void prepare_planes(const uint16_t* x, int64_t k, uint8_t* prepared) noexcept {
  std::memset(prepared, 0, static_cast<size_t>(prepared_bytes(k)));
  for (int64_t i = 0; i < k; ++i) {
    prepared[i / 64 * 128 + i % 64] = static_cast<uint8_t>(x[i] >> 8);
    prepared[i / 64 * 128 + 64 + i % 64] = static_cast<uint8_t>(x[i]);
  }
}

void prepare_one_plane(const uint8_t* x, int64_t k, uint8_t* prepared) noexcept {
  std::memset(prepared, 0, static_cast<size_t>(prepared_bytes(k)));
  std::memcpy(prepared, x, static_cast<size_t>(k));
}

void linear_on_model(const LinearArgs& args, int64_t begin, int64_t end) noexcept {
  linear_by_tiles<ModelTiles>(args, begin, end);
}

Kernels model_kernels() {
  Kernels kernels = kernels_for(Isa::portable);
  kernels.prepare_activation = prepare_planes;
  kernels.prepare_bytes = prepare_one_plane;
  kernels.linear = linear_on_model;
  return kernels;
}

TEST(TileLinear, EqualsTheExactSumForOddSizes) {
  uint32_t seed = 1;
  for (const int64_t k : {1, 4, 63, 64, 65, 127, 200}) {
    for (const int64_t channels : {1, 16, 17, 33, 64}) {
      for (const int64_t rows : {1, 5, 16, 17}) {
        const Layer layer = random_layer(rows, channels, k, ++seed);
        ASSERT_EQ(run(model_kernels(), layer, channels), expected_output(layer))
            << rows << " rows, " << channels << " channels, k " << k;
      }
    }
  }
}

TEST(TileLinear, EveryNumberOfRowsGivesTheSameCodes) {
  for (int64_t rows = 1; rows <= 50; ++rows) {
    const Layer layer = random_layer(rows, 20, 70, static_cast<uint32_t>(rows));
    ASSERT_EQ(run(model_kernels(), layer, 20), expected_output(layer)) << rows << " rows";
  }
}

TEST(TileLinear, ChannelRangesCoverTheWhole) {
  const Layer layer = random_layer(9, 100, 96, 77);
  const std::vector<uint16_t> expected = expected_output(layer);
  for (const int64_t step : {16, 32, 48, 112}) {
    EXPECT_EQ(run(model_kernels(), layer, step), expected);
  }
}

TEST(TileLinear, TakesActivationsOfEightBits) {
  for (const int64_t k : {5, 64, 130}) {
    const Layer layer = with_bytes(random_layer(21, 40, k, static_cast<uint32_t>(k)));
    ASSERT_EQ(run(model_kernels(), layer, 40), expected_output(layer)) << "k " << k;
  }
}

TEST(TileLinear, SumsPassThirtyOneBitsOfOneBytePlane) {
  // 255 * 128 * 131077 is more than 2^32.
  Layer layer = random_layer(6, 17, 131077, 3);
  std::fill(layer.x.begin(), layer.x.end(), uint16_t{65535});
  std::fill(layer.weights.begin(), layer.weights.end(), int8_t{-128});
  std::fill(layer.multiplier.begin(), layer.multiplier.end(), 5e-8);
  layer.x_zero_point = 3;
  layer.y_zero_point = 65000;
  ASSERT_EQ(run(model_kernels(), layer, 17), expected_output(layer));
}

}  // namespace
}  // namespace lathe
