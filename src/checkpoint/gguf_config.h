#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "checkpoint/gguf_family.h"

namespace lathe {

/// The config.json that Hugging Face's code would have for the model of a GGUF file, for
/// parse_model_config. Throws Error for settings that the family's modeling code cannot express
/// (experts, attention to later tokens, ...), each by its key. Appends to `warnings` the keys of
/// the architecture that nothing here reads.
nlohmann::json gguf_config(const Gguf& gguf, const GgufFamily& family,
                           std::vector<std::string>& warnings);

}  // namespace lathe
