#include <cstring>

#include "executors/cpu/kernels/generic/tile_linear.h"
#include "executors/kernels/amx_stand_in.h"
#include "executors/kernels/tile_model.h"

namespace lathe {
namespace {

/// See tile_linear.h.
class ModelTiles {
 public:
  explicit ModelTiles(int64_t rows) {
    for (int tile = 0; tile < TileModel::kTiles; ++tile) {
      model_.set_rows(tile, tile < 6 ? rows : kTileRows);
    }
  }
  template <int kTile>
  static void zero() {
    model_.zero(kTile);
  }
  template <int kTile>
  static void load(const void* memory, int64_t stride) {
    model_.load(kTile, memory, stride);
  }
  template <int kSums, int kA, int kB>
  static void dot() {
    model_.dot(kSums, kA, kB);
  }
  template <int kTile>
  static void store(void* memory, int64_t stride) {
    model_.store(kTile, memory, stride);
  }

 private:
  static inline TileModel model_;
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

void linear(const LinearArgs& args, int64_t begin, int64_t end) noexcept {
  linear_by_tiles<ModelTiles>(args, begin, end);
}

bool linear_int4_row(const LinearArgs&, int64_t, int64_t) { return false; }

}  // namespace
}  // namespace lathe

#include "executors/cpu/kernels/generic/linear_int4.h"

namespace lathe {

const Kernels& kernels_on_tile_model() {
  static const Kernels kernels = [] {
    Kernels made = kernels_for(Isa::portable);
    made.prepare_activation = prepare_planes;
    made.prepare_bytes = prepare_one_plane;
    made.linear = linear;
    made.linear_int4 = linear_int4;
    return made;
  }();
  return kernels;
}

}  // namespace lathe
