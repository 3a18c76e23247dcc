#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace lathe {

/// A file of models/tiny that was built into the program.
struct TinyFile {
  std::string_view name;
  std::span<const std::byte> bytes;
};
std::span<const TinyFile> tiny_files();

}  // namespace lathe
