#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "quant/calibrate.h"
#include "text/text_model.h"

namespace lathe {

/// What a model is calibrated on, as ids: the user's file, or the built-in text and conversations
/// where `file` is empty. At most `tokens` of it, in batches of at most `length` tokens.
///
/// Conversations go through the model's chat template. Throws Error where nothing is left to read.
std::vector<CalibrationBatch> calibration_batches(const TextModel& text,
                                                  const std::filesystem::path& file, int64_t tokens,
                                                  int64_t length);

}  // namespace lathe
