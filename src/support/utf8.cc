#include "support/utf8.h"

#include <cstddef>
#include <cstdint>

#include "support/error.h"

namespace lathe {

namespace {

/// Bytes at the start of `text` that are well-formed: all of them, or those before the first fault.
size_t well_formed(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const auto lead = static_cast<uint8_t>(text[at]);
    size_t tail = 0;
    // The second byte has a narrower range after some lead bytes; the others are 80..BF.
    uint8_t low = 0x80;
    uint8_t high = 0xBF;
    if (lead < 0x80) {
      ++at;
      continue;
    }
    if (lead >= 0xC2 && lead <= 0xDF) {
      tail = 1;
    } else if (lead >= 0xE0 && lead <= 0xEF) {
      tail = 2;
      if (lead == 0xE0) low = 0xA0;
      if (lead == 0xED) high = 0x9F;
    } else if (lead >= 0xF0 && lead <= 0xF4) {
      tail = 3;
      if (lead == 0xF0) low = 0x90;
      if (lead == 0xF4) high = 0x8F;
    } else {
      return at;
    }
    if (text.size() - at <= tail) return at;
    for (size_t i = 1; i <= tail; ++i) {
      const auto byte = static_cast<uint8_t>(text[at + i]);
      if (byte < low || byte > high) return at;
      low = 0x80;
      high = 0xBF;
    }
    at += tail + 1;
  }
  return at;
}

}  // namespace

bool is_utf8(std::string_view text) { return well_formed(text) == text.size(); }

void require_utf8(std::string_view text, const std::string& where) {
  const size_t at = well_formed(text);
  if (at == text.size()) return;
  fail({.what = "text is not valid UTF-8",
        .where = where,
        .found = "an error at byte " + std::to_string(at)});
}

}  // namespace lathe
