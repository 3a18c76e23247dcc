#pragma once

#include <filesystem>

namespace lathe::cli {

/// Prints what the folder of an export says about itself: chip, graphs, what the chip's compiler
/// made of them, files.
void print_export(const std::filesystem::path& folder, bool json);

}  // namespace lathe::cli
