#pragma once

#include <filesystem>
#include <memory>

#include "checkpoint/checkpoint.h"

namespace lathe {

/// Opens a GGUF file of the llama architecture. Names, shapes and the order of rows are those of
/// Hugging Face's checkpoints. Throws Error.
std::shared_ptr<const Checkpoint> open_gguf(const std::filesystem::path& path);

}  // namespace lathe
