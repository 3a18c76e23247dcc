#include "support/error.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace lathe {
namespace {

using testing::expect_error;

TEST(Error, IsOneLineInAFixedOrder) {
  try {
    fail({.what = "tensor has the wrong shape",
          .where = "model.safetensors: lm_head.weight",
          .expected = "[2, 3]",
          .found = "[3, 2]",
          .advice = "download the file again"});
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "model.safetensors: lm_head.weight: tensor has the wrong shape: "
                 "expected [2, 3], found [3, 2]; download the file again");
  }
}

TEST(Error, LeavesOutEmptyParts) {
  expect_error([] { fail({.what = "no weights", .found = "nothing"}); },
               {"no weights: found nothing"});
}

TEST(Error, CannotBeBrokenByWhatAFileHolds) {
  expect_error([] { fail({.what = "a\nb\x1b[31m", .where = "\xFF"}); }, {"?: a b [31m"});
}

TEST(Printable, KeepsWholeCharactersWhenCutting) {
  EXPECT_EQ(printable("caf\xC3\xA9", 5), "caf\xC3\xA9");
  EXPECT_EQ(printable("caf\xC3\xA9", 4), "caf...");
  EXPECT_EQ(printable("", 4), "");
}

}  // namespace
}  // namespace lathe
