#pragma once

#include <span>
#include <string_view>

namespace lathe {

/// A file of recipes/ that was built into the program.
struct EmbeddedFile {
  std::string_view name;  ///< "default-16a8w.json"
  std::string_view text;
};

std::span<const EmbeddedFile> embedded_recipes();
std::string_view embedded_calibration_text();   ///< recipes/calibration/default.txt
std::string_view embedded_calibration_chats();  ///< recipes/calibration/default-chat.json

}  // namespace lathe
