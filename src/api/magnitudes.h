#pragma once

#include <memory>
#include <span>

#include "checkpoint/checkpoint.h"
#include "passes/equalize_columns.h"
#include "passes/equalize_keys.h"
#include "quant/calibrate.h"

namespace lathe {

/// How large the numbers of a model are where a transform evens them out.
struct Magnitudes {
  KeyMagnitudes keys;
  NormMagnitudes norms;
};

/// Those of a checkpoint over some texts, in float.
Magnitudes find_magnitudes(const std::shared_ptr<const Checkpoint>& checkpoint,
                           std::span<const CalibrationBatch> batches, int threads);

}  // namespace lathe
