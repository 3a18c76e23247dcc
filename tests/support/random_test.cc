#include "support/random.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lathe {
namespace {

// Values published with the generator, for instance at rosettacode.org/wiki/Pseudo-random_numbers.
TEST(SplitMix64, GivesThePublishedValues) {
  SplitMix64 random(1234567);
  EXPECT_EQ(random.next(), 6457827717110365317u);
  EXPECT_EQ(random.next(), 3203168211198807973u);
  EXPECT_EQ(random.next(), 9817491932198370423u);
}

TEST(SplitMix64, UniformStaysBelowOne) {
  SplitMix64 random(0);
  double sum = 0.0;
  for (int i = 0; i < 10000; ++i) {
    const double u = random.uniform();
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    sum += u;
  }
  EXPECT_NEAR(sum / 10000, 0.5, 4 * std::sqrt(1.0 / 12 / 10000));
}

}  // namespace
}  // namespace lathe
