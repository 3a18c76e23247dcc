#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/error.h"

namespace lathe::testing {

/// Expects `action` to throw Error with one line that holds every one of `parts`.
template <typename Action>
void expect_error(const Action& action, const std::vector<std::string>& parts) {
  try {
    action();
    ADD_FAILURE() << "no error, expected one with \"" << parts.front() << '"';
  } catch (const Error& error) {
    const std::string line = error.what();
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
    for (const std::string& part : parts) EXPECT_THAT(line, ::testing::HasSubstr(part));
  }
}

}  // namespace lathe::testing
