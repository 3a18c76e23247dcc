#include "executors/ort/chips.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "support/error.h"

namespace lathe {
namespace {

using ::testing::HasSubstr;

TEST(Chips, AreFoundByNameIdAndArch) {
  EXPECT_EQ(find_chip("SM8750").id, 69);
  EXPECT_EQ(find_chip("sm8750").arch, 79);
  EXPECT_EQ(find_chip("69").name, "SM8750");
  EXPECT_EQ(find_chip("v79").name, "SM8750");
  EXPECT_EQ(find_chip("V73").name, "SM8550");
  EXPECT_EQ(find_chip("v81").name, "SM8850");
  EXPECT_EQ(find_chip("SA8797").vtcm_mb, 16);
}

TEST(Chips, HaveNamesAndIdsOfTheirOwn) {
  std::set<std::string_view> names;
  std::set<int> ids;
  for (const Chip& chip : chips()) {
    EXPECT_TRUE(names.insert(chip.name).second) << chip.name;
    EXPECT_TRUE(ids.insert(chip.id).second) << chip.name;
  }
}

TEST(Chips, OthersAreRefusedWithTheNamesThatAreKnown) {
  // 79 is an arch without its v, and no chip's id.
  for (const std::string text : {"", "79", "v", "SM875", "SM8750 ", "V99", "\x1b[2J"}) {
    try {
      find_chip(text);
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("unknown chip")) << text;
      EXPECT_THAT(error.what(), HasSubstr("SM8750, SM8850")) << text;
    }
  }
}

}  // namespace
}  // namespace lathe
