#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace lathe {

/// Throws Error where a file is only a Git LFS pointer: the small text that a clone without git-lfs
/// leaves in place of a large file. `bytes` may be the whole file or its beginning.
void refuse_lfs_pointer(std::span<const std::byte> bytes, const std::string& where);
void refuse_lfs_pointer(std::string_view text, const std::string& where);

}  // namespace lathe
