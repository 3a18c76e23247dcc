#include "text/control_marks.h"

#include <algorithm>
#include <array>
#include <span>

#include "support/error.h"

namespace lathe {
namespace {

std::string utf8(char32_t character) {
  const auto tail = [&](int shift) {
    return static_cast<char>(0x80u | ((character >> shift) & 0x3Fu));
  };
  if (character < 0x10000) {
    return {static_cast<char>(0xE0u | (character >> 12)), tail(6), tail(0)};
  }
  return {static_cast<char>(0xF0u | (character >> 18)), tail(12), tail(6), tail(0)};
}

/// The 66 code points that Unicode keeps free of characters for good (Unicode Standard, 23.7).
std::vector<char32_t> noncharacters() {
  std::vector<char32_t> all;
  for (char32_t character = 0xFDD0; character <= 0xFDEF; ++character) all.push_back(character);
  for (char32_t plane = 0; plane <= 16; ++plane) {
    all.push_back(plane * 0x10000 + 0xFFFE);
    all.push_back(plane * 0x10000 + 0xFFFF);
  }
  return all;
}

/// Bytes of the first character of a text that is not empty.
size_t first_character(std::string_view text) {
  size_t size = 1;
  while (size < text.size() && (static_cast<uint8_t>(text[size]) & 0xC0u) == 0x80u) ++size;
  return size;
}

/// Spellings grouped by their first byte, so that a text is searched in one pass.
class Spellings {
 public:
  explicit Spellings(const std::vector<std::string>& specials) {
    for (const std::string& special : specials) {
      if (!special.empty()) by_first_[static_cast<uint8_t>(special[0])].push_back(special);
    }
  }
  /// Whether a spelling begins where `text` begins.
  bool begins(std::string_view text) const {
    const auto& candidates = by_first_[static_cast<uint8_t>(text[0])];
    return std::any_of(candidates.begin(), candidates.end(),
                       [&](std::string_view special) { return text.starts_with(special); });
  }

 private:
  std::array<std::vector<std::string_view>, 256> by_first_;
};

/// Byte offsets, in order, behind the first character of every spelling in `text`.
std::vector<size_t> inside_spellings(std::string_view text,
                                     const std::vector<std::string>& specials) {
  const Spellings spellings(specials);
  std::vector<size_t> places;
  for (size_t at = 0; at < text.size(); ++at) {
    const std::string_view rest = text.substr(at);
    if (spellings.begins(rest)) places.push_back(at + first_character(rest));
  }
  return places;
}

std::string insert_at(std::string_view text, std::span<const size_t> places, char32_t mark) {
  const std::string inserted = utf8(mark);
  std::string out;
  out.reserve(text.size() + places.size() * inserted.size());
  size_t done = 0;
  for (const size_t place : places) {
    out.append(text.substr(done, place - done)).append(inserted);
    done = place;
  }
  return out.append(text.substr(done));
}

constexpr std::string_view kSpace = " \t\n\v\f\r";

/// Where the text begins and ends for a template that trims it.
std::pair<size_t, size_t> trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {0, 0};
  return {begin, text.find_last_not_of(kSpace) + 1};
}

/// Whether `text` begins as some spelling goes on: with a proper ending of it, or lies within it.
bool continues_spelling(std::string_view text, const std::vector<std::string>& specials) {
  for (const std::string_view special : specials) {
    for (size_t cut = 1; cut < special.size(); ++cut) {
      const std::string_view rest = special.substr(cut);
      if (text.starts_with(rest) || rest.starts_with(text)) return true;
    }
  }
  return false;
}

/// The offset of the longest ending of `text` that is a proper beginning of some spelling, or npos.
size_t open_spelling(std::string_view text, const std::vector<std::string>& specials) {
  size_t longest = 0;
  for (const std::string_view special : specials) {
    for (size_t size = std::min(special.size() - 1, text.size()); size > longest; --size) {
      if (text.ends_with(special.substr(0, size))) longest = size;
    }
  }
  return longest == 0 ? std::string_view::npos : text.size() - longest;
}

}  // namespace

char32_t unused_mark(const std::vector<std::string_view>& texts) {
  for (const char32_t candidate : noncharacters()) {
    const std::string encoded = utf8(candidate);
    const auto holds = [&](std::string_view text) {
      return text.find(encoded) != std::string_view::npos;
    };
    if (std::none_of(texts.begin(), texts.end(), holds)) return candidate;
  }
  fail({.what = "the text holds every Unicode noncharacter", .advice = "remove one of them"});
}

bool spells_any(std::string_view text, const std::vector<std::string>& specials) {
  return !inside_spellings(text, specials).empty();
}

std::string mark_spellings(std::string_view text, const std::vector<std::string>& specials,
                           char32_t mark) {
  return insert_at(text, inside_spellings(text, specials), mark);
}

std::string mark_message(std::string_view text, const std::vector<std::string>& specials,
                         char32_t mark) {
  std::vector<size_t> places = inside_spellings(text, specials);
  const auto [begin, end] = trimmed(text);
  if (begin < end) {
    const std::string_view core = text.substr(begin, end - begin);
    if (continues_spelling(core, specials)) places.push_back(begin);
    const size_t open = open_spelling(core, specials);
    if (open != std::string_view::npos) {
      places.push_back(begin + open + first_character(core.substr(open)));
    }
  }
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return insert_at(text, places, mark);
}

}  // namespace lathe
