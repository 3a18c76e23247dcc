#pragma once

#include <filesystem>

#include "artifact/model.h"

namespace lathe {

/// Writes model.lathe (docs/artifact.md). The same model gives the same bytes. Throws Error where
/// the model is not one that read_model would accept, two constants of one name differ, or the file
/// cannot be written; then `path` keeps what it had.
void write_model(const Model& model, const std::filesystem::path& path);

}  // namespace lathe
