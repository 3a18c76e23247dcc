#pragma once

#include <memory>
#include <span>

#include "checkpoint/checkpoint.h"
#include "passes/equalize_keys.h"
#include "quant/calibrate.h"

namespace lathe {

/// The largest magnitude of every dimension of a model's keys over some texts, in float.
KeyMagnitudes key_magnitudes(const std::shared_ptr<const Checkpoint>& checkpoint,
                             std::span<const CalibrationBatch> batches, int threads);

}  // namespace lathe
