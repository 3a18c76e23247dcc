#include "decode/stop_strings.h"

#include <gtest/gtest.h>

#include "support/error.h"

namespace lathe {
namespace {

TEST(StopStrings, WithoutAnyTextPassesAtOnce) {
  StopStrings stops({});
  EXPECT_EQ(stops.push("Hello"), "Hello");
  EXPECT_EQ(stops.finish(), "");
  EXPECT_FALSE(stops.found());
}

TEST(StopStrings, HoldsBackWhatMayBecomeAStopString) {
  StopStrings stops({"\nUser:"});
  EXPECT_EQ(stops.push("Yes.\n"), "Yes.");
  EXPECT_EQ(stops.push("Us"), "");
  EXPECT_EQ(stops.push("ual"), "\nUsual");
  EXPECT_EQ(stops.push("ly\nUser"), "ly");
  EXPECT_EQ(stops.push(": and more"), "");
  EXPECT_TRUE(stops.found());
  EXPECT_EQ(stops.push("ignored"), "");
  EXPECT_EQ(stops.finish(), "");
}

TEST(StopStrings, GivesBackWhatWasHeldWhenTheTextIsOver) {
  StopStrings stops({"END"});
  EXPECT_EQ(stops.push("the EN"), "the ");
  EXPECT_EQ(stops.finish(), "EN");
  EXPECT_FALSE(stops.found());
}

// "aab" begins again inside a failed attempt.
TEST(StopStrings, FindsAStopStringThatOverlapsItsOwnBeginning) {
  StopStrings stops({"aab"});
  EXPECT_EQ(stops.push("aaa"), "a");
  EXPECT_EQ(stops.push("b"), "");
  EXPECT_TRUE(stops.found());
}

TEST(StopStrings, ResultDoesNotDependOnWhereThePiecesAreCut) {
  const std::string text = "one two three <|end|> four";
  const std::vector<std::string> stops{"<|end|>", "three <|end|> f", "end|>", "e <|end|>x"};
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    StopStrings scanner(stops);
    std::string out = scanner.push(text.substr(0, cut));
    out += scanner.push(text.substr(cut));
    out += scanner.finish();
    EXPECT_EQ(out, "one two three ") << "cut at " << cut;
    EXPECT_TRUE(scanner.found());
  }
}

TEST(StopStrings, RefusesAnEmptyStopString) { EXPECT_THROW(StopStrings({"a", ""}), Error); }

}  // namespace
}  // namespace lathe
