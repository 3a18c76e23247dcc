#pragma once

#include <cstdint>
#include <cstring>

namespace lathe {

/// The eight tiles of a thread and what instructions do with them, as Intel's "Architecture
/// Instruction Set Extensions Programming Reference" has it. All tiles are 64 bytes wide.
class TileModel {
 public:
  static constexpr int kTiles = 8;

  void set_rows(int tile, int64_t rows) { tiles_[tile] = {rows, {}}; }
  int64_t rows(int tile) const { return tiles_[tile].rows; }

  /// TILEZERO
  void zero(int tile) { std::memset(tiles_[tile].bytes, 0, sizeof(tiles_[tile].bytes)); }

  /// TILELOADD
  void load(int tile, const void* memory, int64_t stride) {
    for (int64_t row = 0; row < tiles_[tile].rows; ++row) {
      std::memcpy(tiles_[tile].bytes[row], static_cast<const uint8_t*>(memory) + row * stride, 64);
    }
  }

  /// TILESTORED
  void store(int tile, void* memory, int64_t stride) const {
    for (int64_t row = 0; row < tiles_[tile].rows; ++row) {
      std::memcpy(static_cast<uint8_t*>(memory) + row * stride, tiles_[tile].bytes[row], 64);
    }
  }

  /// TDPBUSD
  void dot(int sums, int a, int b) {
    for (int64_t m = 0; m < tiles_[sums].rows; ++m) {
      for (int64_t k = 0; k < 16; ++k) {
        for (int64_t n = 0; n < 16; ++n) {
          uint32_t sum = 0;
          std::memcpy(&sum, tiles_[sums].bytes[m] + 4 * n, sizeof(sum));
          for (int64_t j = 0; j < 4; ++j) {
            const int32_t x = tiles_[a].bytes[m][4 * k + j];
            const auto weight = static_cast<int8_t>(tiles_[b].bytes[k][4 * n + j]);
            sum += static_cast<uint32_t>(x * weight);
          }
          std::memcpy(tiles_[sums].bytes[m] + 4 * n, &sum, sizeof(sum));
        }
      }
    }
  }

 private:
  struct Tile {
    int64_t rows;
    uint8_t bytes[16][64];
  };
  Tile tiles_[kTiles] = {};
};

}  // namespace lathe
