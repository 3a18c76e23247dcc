#pragma once

#include <filesystem>
#include <memory>

#include "checkpoint/checkpoint.h"

namespace lathe {

/// Opens a Hugging Face checkpoint folder: config.json and safetensors weights (one file or shards
/// with an index), with generation_config.json, the tokenizer files and the chat template where
/// present. Throws Error.
std::shared_ptr<const Checkpoint> open_hf_folder(const std::filesystem::path& folder);

}  // namespace lathe
