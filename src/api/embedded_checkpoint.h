#pragma once

#include <filesystem>
#include <memory>

#include "checkpoint/checkpoint.h"

namespace lathe {

/// Opens a checkpoint folder, a .gguf file, or, for the word "tiny", the checkpoint that is built
/// into the program (models/tiny). Throws Error.
std::shared_ptr<const Checkpoint> open_source(const std::filesystem::path& source);

}  // namespace lathe
