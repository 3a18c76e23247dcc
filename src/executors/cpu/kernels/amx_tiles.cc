// Products of many rows in AMX tiles. A source file of its own, so that nothing else is compiled
// for these instructions.

#include "executors/cpu/kernels/generic/tile_linear.h"
#include "executors/cpu/kernels/tables.h"

namespace lathe {
namespace {

/// The tiles of this thread, configured for as long as this object lives. Not the intrinsics: GCC
/// makes the names of tiles out of their text, which has to be a number, and tells itself that
/// LDTILECFG reads 8 bytes and TILELOADD none.
class AmxTiles {
 public:
  explicit AmxTiles(int64_t rows) {
    // Palette 1: eight tiles; see the definition of LDTILECFG.
    struct alignas(64) Configuration {
      uint8_t palette = 1;
      uint8_t start_row = 0;
      uint8_t reserved[14] = {};
      uint16_t row_bytes[16] = {};
      uint8_t rows[16] = {};
    } configuration;
    for (int tile = 0; tile < 8; ++tile) {
      configuration.row_bytes[tile] = 64;
      configuration.rows[tile] = static_cast<uint8_t>(tile < 6 ? rows : kTileRows);
    }
    asm volatile("ldtilecfg %0" ::"m"(configuration));
  }
  ~AmxTiles() { asm volatile("tilerelease"); }
  AmxTiles(const AmxTiles&) = delete;
  AmxTiles& operator=(const AmxTiles&) = delete;

  template <int kTile>
  static void zero() {
    asm volatile("tilezero %%tmm%c0" ::"i"(kTile));
  }
  template <int kTile>
  static void load(const void* memory, int64_t stride) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(memory), "r"(stride), "i"(kTile) : "memory");
  }
  template <int kSums, int kA, int kB>
  static void dot() {
    // In this syntax the operands stand in reverse: unsigned bytes are the one in the middle.
    asm volatile("tdpbusd %%tmm%c0, %%tmm%c1, %%tmm%c2" ::"i"(kB), "i"(kA), "i"(kSums));
  }
  template <int kTile>
  static void store(void* memory, int64_t stride) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(memory), "r"(stride), "i"(kTile)
                 : "memory");
  }
};

}  // namespace

void linear_by_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_tiles<AmxTiles>(args, begin, end);
}

}  // namespace lathe
