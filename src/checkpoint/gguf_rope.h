#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>

#include "checkpoint/gguf.h"

namespace lathe {

/// The `rope_scaling` of config.json that a GGUF file means: null, linear or llama3.
///
/// GGUF files of Llama 3 models do not name its scaling; they hold its effect, a tensor
/// `rope_freqs.weight` of head_dim / 2 numbers by which the inverse frequencies are divided. The
/// settings are found again from these numbers: the published ones first, then a fit. Throws Error
/// where nothing that Hugging Face's llama3 scaling can express gives the numbers within 1e-5.
nlohmann::json gguf_rope_scaling(const Gguf& gguf, std::span<const std::byte> file,
                                 int64_t head_dim, double theta);

}  // namespace lathe
