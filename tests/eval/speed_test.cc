#include "eval/speed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lathe {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Lt;

TEST(Spread, IsTheMiddleAndTheEnds) {
  const Spread odd = spread({3.0, 1.0, 2.0});
  EXPECT_EQ(odd.median, 2.0);
  EXPECT_EQ(odd.min, 1.0);
  EXPECT_EQ(odd.max, 3.0);
  EXPECT_EQ(spread({4.0, 1.0, 2.0, 3.0}).median, 2.5);
  EXPECT_EQ(spread({}).median, 0.0);
}

TEST(Ratios, AreTakenSampleBySample) {
  EXPECT_THAT(ratios({6.0, 1.0}, {3.0, 2.0}), ElementsAre(2.0, 0.5));
}

TEST(Interleave, RunsEachOnceARoundAndEveryOtherRoundBackwards) {
  std::vector<size_t> calls;
  const auto samples = interleave(3, 2, [&](size_t i) {
    calls.push_back(i);
    return static_cast<double>(calls.size());
  });
  EXPECT_THAT(calls, ElementsAre(0, 1, 2,    // does not count
                                 0, 1, 2,    //
                                 2, 1, 0));  //
  EXPECT_THAT(samples,
              ElementsAre(ElementsAre(4.0, 9.0), ElementsAre(5.0, 8.0), ElementsAre(6.0, 7.0)));
}

TEST(ScatteredIds, LieInTheVocabulary) {
  const std::vector<int64_t> ids = scattered_ids(1000, 7);
  EXPECT_EQ(ids.size(), 1000);
  EXPECT_THAT(ids, Each(Lt(7)));
  EXPECT_EQ(ids, scattered_ids(1000, 7));
}

}  // namespace
}  // namespace lathe
