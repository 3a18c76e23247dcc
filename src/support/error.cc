#include "support/error.h"

#include <string_view>

namespace lathe {
namespace {

/// Bytes of the UTF-8 character that starts at `at`, or 0 where the bytes are not UTF-8.
size_t character_length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at);
  const size_t length = lead < 0x80           ? 1
                        : (lead >> 5) == 0x6  ? 2
                        : (lead >> 4) == 0xE  ? 3
                        : (lead >> 3) == 0x1E ? 4
                                              : 0;
  if (length == 0 || at + length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) >> 6) != 0x2) return 0;
  }
  return length;
}

}  // namespace

std::string printable(std::string_view text, size_t limit) {
  std::string out;
  size_t at = 0;
  while (at < text.size()) {
    const size_t length = character_length(text, at);
    if (out.size() + (length == 0 ? 1 : length) > limit) return out + "...";
    if (length == 0) {
      out += '?';
      ++at;
      continue;
    }
    const auto lead = static_cast<unsigned char>(text[at]);
    if (lead < 0x20 || lead == 0x7F) {
      out += ' ';
    } else {
      out.append(text, at, length);
    }
    at += length;
  }
  return out;
}

void fail(const Complaint& complaint) {
  std::string line;
  if (!complaint.where.empty()) line += complaint.where + ": ";
  line += complaint.what;
  if (!complaint.expected.empty()) line += ": expected " + complaint.expected;
  if (!complaint.found.empty()) {
    line += (complaint.expected.empty() ? ": found " : ", found ") + complaint.found;
  }
  if (!complaint.advice.empty()) line += "; " + complaint.advice;
  throw Error(printable(line, 2000));
}

}  // namespace lathe
