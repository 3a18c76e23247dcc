#pragma once

#include <string>
#include <string_view>

#include "text/ffi.h"

namespace lathe {

inline LatheText borrow(std::string_view text) { return {text.data(), text.size()}; }

/// The bytes of `text`, which is freed.
inline std::string take(LatheOwnedText text) {
  std::string taken(text.data, text.size);
  lathe_text_free(text);
  return taken;
}

}  // namespace lathe
