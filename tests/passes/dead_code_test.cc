#include <gtest/gtest.h>

#include "passes/after_pass.h"

namespace lathe {
namespace {

TEST(dead_code, NodesAndInputsThatNoOutputNeedsAreGone) {
  EXPECT_EQ(test::after_pass(R"(graph decode ar=1 cl=1
  input %x : f32[4]
  input %unread : f32[4]
  %y = aten.neg(%x)
  %spare = aten.neg(%unread)
  output y = %y
)",
                             dead_code),
            R"(graph decode ar=1 cl=1
  input %x : f32[4]
  %y = aten.neg(%x) : f32[4]
  output y = %y
)");
}

}  // namespace
}  // namespace lathe
