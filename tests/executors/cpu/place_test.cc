#include "executors/cpu/place.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace lathe {
namespace {

/// Where every element lies, in order.
std::vector<int64_t> offsets(const Shape& shape, const Shape& strides) {
  std::vector<int64_t> result{0};
  for (size_t d = 0; d < shape.size(); ++d) {
    std::vector<int64_t> next;
    for (const int64_t offset : result) {
      for (int64_t i = 0; i < shape[d]; ++i) next.push_back(offset + i * strides[d]);
    }
    result = std::move(next);
  }
  return result;
}

/// Whether some strides show memory that lies at `at` as `shape`: the only candidates are the
/// differences between neighbours.
bool can_be_viewed(const std::vector<int64_t>& at, const Shape& shape) {
  Shape strides(shape.size(), 0);
  int64_t step = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    if (shape[d] > 1) strides[d] = at[static_cast<size_t>(step)] - at[0];
    step *= shape[d];
  }
  return offsets(shape, strides) == at;
}

Shape random_factors(int64_t total, std::mt19937& random) {
  Shape shape;
  while (total > 1) {
    std::vector<int64_t> divisors;
    for (int64_t d = 2; d <= total; ++d) {
      if (total % d == 0) divisors.push_back(d);
    }
    shape.push_back(divisors[random() % divisors.size()]);
    total /= shape.back();
  }
  for (int ones = static_cast<int>(random() % 3); ones > 0; --ones) {
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(random() % (shape.size() + 1)), 1);
  }
  std::shuffle(shape.begin(), shape.end(), random);
  return shape;
}

TEST(ReshapeStrides, GivesTheSameElementsAndNeverRefusesWhatCanBeViewed) {
  std::mt19937 random(3);
  int viewed = 0;
  constexpr int kRounds = 3000;
  for (int round = 0; round < kRounds; ++round) {
    const int64_t total = std::vector<int64_t>{1, 6, 12, 24, 36, 64}[random() % 6];
    const Shape from = random_factors(total, random);
    const Shape to = random_factors(total, random);
    // Dense memory with dimensions swapped, cut (longer than the shape says) or repeated.
    Shape memory = from;
    for (int64_t& size : memory) size += random() % 5 == 0 ? 1 : 0;
    std::vector<size_t> order(from.size());
    for (size_t d = 0; d < order.size(); ++d) order[d] = d;
    if (random() % 2 == 0) std::shuffle(order.begin(), order.end(), random);
    Shape strides(from.size());
    int64_t stride = 1;
    for (size_t i = order.size(); i-- > 0;) {
      strides[order[i]] = random() % 8 == 0 ? 0 : stride;
      stride *= memory[order[i]];
    }
    const std::vector<int64_t> at = offsets(from, strides);
    const std::optional<Shape> result = reshape_strides(from, strides, to);
    const std::string what = to_string(from) + to_string(strides) + " as " + to_string(to);
    ASSERT_EQ(result.has_value(), can_be_viewed(at, to)) << what;
    if (!result) continue;
    ++viewed;
    EXPECT_EQ(offsets(to, *result), at) << what;
  }
  EXPECT_GT(viewed, kRounds / 4);
  EXPECT_LT(viewed, kRounds);
}

TEST(ReshapeStrides, SplitsAndJoinsHeads) {
  // [tokens, heads * width] -> [tokens, heads, width] and, transposed, not back.
  EXPECT_EQ(reshape_strides({1, 5, 12}, {60, 12, 1}, {1, 5, 3, 4}), (Shape{60, 12, 4, 1}));
  EXPECT_EQ(reshape_strides({1, 3, 5, 4}, {60, 4, 12, 1}, {1, 3, 20}), std::nullopt);
}

TEST(ReshapeStrides, EmptyTensors) {
  EXPECT_TRUE(reshape_strides({0, 3}, {3, 1}, {3, 0}).has_value());
  reshape_strides({2, 0, 3}, {1, 5, 0}, {0});  // any answer will do, if it comes
}

TEST(FillsMemory, InWhateverOrder) {
  EXPECT_TRUE(fills_memory({2, 3, 4}, {12, 4, 1}));
  EXPECT_TRUE(fills_memory({2, 3, 4}, {1, 8, 2}));
  EXPECT_TRUE(fills_memory({2, 1, 4}, {4, 0, 1}));
  EXPECT_FALSE(fills_memory({2, 3, 4}, {24, 8, 2}));
  EXPECT_FALSE(fills_memory({2, 3}, {0, 1}));
}

TEST(SameOrder, LooksAtDimensionsThatHaveOne) {
  EXPECT_TRUE(same_order({2, 1, 4}, {4, 0, 1}, {4, 4, 1}));
  EXPECT_FALSE(same_order({2, 4}, {4, 1}, {1, 2}));
}

TEST(BroadcastStrides, RepeatWhatIsNotThere) {
  EXPECT_EQ(broadcast_strides({3, 1, 4}, {4, 4, 1}, {2, 3, 5, 4}), (Shape{0, 4, 0, 1}));
  EXPECT_EQ(broadcast_strides({4}, {1}, {3, 4}), (Shape{0, 1}));
}

}  // namespace
}  // namespace lathe
