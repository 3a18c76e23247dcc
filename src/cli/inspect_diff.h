#pragma once

#include <filesystem>

namespace lathe::cli {

/// lathe inspect MODEL --diff OTHER: compares the graphs of each role that both artifacts have and
/// prints what it finds. Gives whether all are isomorphic. Throws Error for artifacts that cannot
/// be read or have no role in common.
bool print_diff(const std::filesystem::path& first, const std::filesystem::path& second, bool json);

}  // namespace lathe::cli
