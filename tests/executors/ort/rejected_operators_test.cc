#include "executors/ort/rejected_operators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lathe {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(RejectedOperators, AreReadFromTheLog) {
  // As onnxruntime-qnn 2.7.0 logs it, once for each time that it is asked.
  EXPECT_THAT(
      rejected_operators("This session contains graph nodes\n"
                         "Unsupported nodes in QNN EP: { name: layers.3.act, type: Acosh }, "
                         "{ name: , type: Erf }\n"
                         "Unsupported nodes in QNN EP: { name: layers.3.act, type: Acosh }\n"),
      ElementsAre(RejectedOperator{"layers.3.act", "Acosh"}, RejectedOperator{"", "Erf"}));
}

TEST(RejectedOperators, AreNoneInOtherLogs) {
  EXPECT_THAT(rejected_operators(""), IsEmpty());
  EXPECT_THAT(rejected_operators("something { name: went"), IsEmpty());
  EXPECT_THAT(rejected_operators("{ name: a, type: "), IsEmpty());
}

}  // namespace
}  // namespace lathe
