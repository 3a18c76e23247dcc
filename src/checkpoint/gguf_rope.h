#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "checkpoint/gguf_settings.h"

namespace lathe {

/// Adds the `rope_scaling` that a GGUF file means to a config.json: none, linear, yarn, llama3 or
/// longrope. `rotary` values of each head rotate.
///
/// GGUF files of Llama 3 models do not name its scaling; they hold its effect, a tensor
/// `rope_freqs.weight` of rotary / 2 numbers by which the inverse frequencies are divided. The
/// settings are found again from these numbers: the published ones first, then a fit. Throws Error
/// where nothing that Hugging Face's llama3 scaling can express gives the numbers within 1e-5.
/// The factors of longrope are tensors as well.
void add_gguf_rope_scaling(GgufSettings& settings, int64_t rotary, double theta,
                           nlohmann::json& config);

}  // namespace lathe
