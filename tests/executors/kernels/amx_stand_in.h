#pragma once

#include "executors/cpu/kernels/kernels.h"

// Few machines have AMX. So its products of rows are tested in two other ways.

namespace lathe {

/// linear() and linear_int4() in the tiles of a TileModel, for any number of rows; everything else
/// is portable.
const Kernels& kernels_on_tile_model();

/// The kernels for AMX as they are compiled, on a processor that has all that they need but tiles:
/// from now on, tile instructions of this process trap, and run on a TileModel. Null on a processor
/// that has AMX or lacks AVX-512.
const Kernels* trapped_amx_kernels();

}  // namespace lathe
