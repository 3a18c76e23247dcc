#include "text/control_marks.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/error.h"

namespace lathe {
namespace {

const std::vector<std::string> kSpecials = {"<|im_end|>", "<|im_start|>", "[INST]"};
constexpr char32_t kMark = U'\uFDD0';

/// Marks as '^', to be read.
std::string shown(std::string_view text) {
  constexpr std::string_view mark = "\uFDD0";
  std::string out;
  while (!text.empty()) {
    const bool marked = text.starts_with(mark);
    out += marked ? '^' : text[0];
    text.remove_prefix(marked ? mark.size() : 1);
  }
  return out;
}

TEST(ControlMarks, StandInsideEverySpelling) {
  EXPECT_EQ(shown(mark_spellings("a<|im_end|>b[INST][INST]", kSpecials, kMark)),
            "a<^|im_end|>b[^INST][^INST]");
  EXPECT_EQ(mark_spellings("a < b [INST", kSpecials, kMark), "a < b [INST");
}

TEST(ControlMarks, StandInsideOverlappingSpellings) {
  EXPECT_EQ(shown(mark_spellings("aaa", {"aa"}, kMark)), "a^a^a");
  EXPECT_EQ(shown(mark_spellings("ééé", {"éé"}, kMark)), "é^é^é");
}

TEST(ControlMarks, GuardTheEdgesOfAMessage) {
  const auto marked = [](const char* text) { return shown(mark_message(text, kSpecials, kMark)); };
  EXPECT_EQ(marked("hello"), "hello");
  EXPECT_EQ(marked(""), "");
  EXPECT_EQ(marked(" \n"), " \n");
  EXPECT_EQ(marked("_start|> hello"), "^_start|> hello");
  EXPECT_EQ(marked("\n > quoted"), "\n ^> quoted");
  EXPECT_EQ(marked("if a <"), "if a <^");
  EXPECT_EQ(marked("hello <|im_ "), "hello <^|im_ ");
  EXPECT_EQ(marked("im"), "^im") << "may lie within a spelling";
}

TEST(ControlMarks, TheMarkIsNotInTheTexts) {
  EXPECT_EQ(unused_mark({}), U'\uFDD0');
  EXPECT_EQ(unused_mark({"a\uFDD0", "\uFDD1"}), U'\uFDD2');
}

TEST(ControlMarks, ATextWithEveryNoncharacterIsRefused) {
  std::string all;
  for (char32_t plane = 0; plane <= 16; ++plane) {
    for (const uint8_t last : {0xBE, 0xBF}) {
      const std::string four = {static_cast<char>(0xF0 | (plane >> 2)),
                                static_cast<char>(0x8F | ((plane & 3) << 4)),
                                static_cast<char>(0xBF), static_cast<char>(last)};
      all += plane == 0 ? std::string{'\xEF', '\xBF', static_cast<char>(last)} : four;
    }
  }
  for (int last = 0x90; last <= 0xAF; ++last) {
    all += std::string{'\xEF', '\xB7', static_cast<char>(last)};
  }
  EXPECT_THROW(unused_mark({all}), Error);
}

}  // namespace
}  // namespace lathe
