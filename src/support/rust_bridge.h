#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// What the C ABIs of rust/ share: the C++ side of rust/abi; the two change together. Text has
// explicit lengths and is UTF-8; what is not is reported as an error. A function that returns bool
// writes its result on true and `error` on false. Nothing unwinds across.

extern "C" {

struct LatheText {
  const char* data;
  size_t size;
};

/// Belongs to the caller until lathe_text_free.
struct LatheOwnedText {
  char* data;
  size_t size;
};

void lathe_text_free(LatheOwnedText text);

}  // extern "C"

namespace lathe {

inline LatheText borrow(std::string_view text) { return {text.data(), text.size()}; }

/// The bytes of `text`, which is freed.
inline std::string take(LatheOwnedText text) {
  std::string taken(text.data, text.size);
  lathe_text_free(text);
  return taken;
}

}  // namespace lathe
