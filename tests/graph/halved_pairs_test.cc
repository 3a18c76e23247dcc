#include "graph/halved_pairs.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace lathe {
namespace {

/// A constant with the numbers 0, 1, 2 ...
Value counted(const std::string& name, Shape shape) {
  Value value;
  value.name = name;
  value.shape = std::move(shape);
  std::vector<float> numbers(static_cast<size_t>(elements(value.shape)));
  std::iota(numbers.begin(), numbers.end(), 0.0f);
  value.constant = float_constant(name, std::move(numbers));
  return value;
}

std::vector<float> read(const Value& value, int64_t begin, int64_t count) {
  std::vector<float> numbers(static_cast<size_t>(count));
  value.constant->floats->read(begin, count, numbers.data());
  return numbers;
}

// Two heads of 6, of which 4 turn: pairs (0, 1) and (2, 3) become (0, 2) and (1, 3).
TEST(HalvedPairs, TheFirstOfEachPairComeFirst) {
  const Value bias = halved_pairs(counted("q_proj.bias", {12}), 6, 4);
  EXPECT_EQ(bias.name, "q_proj.bias.halves");
  EXPECT_EQ(bias.constant->name, "q_proj.bias.halves");
  EXPECT_EQ(read(bias, 0, 12), (std::vector<float>{0, 2, 1, 3, 4, 5, 6, 8, 7, 9, 10, 11}));
  EXPECT_EQ(read(bias, 7, 3), (std::vector<float>{8, 7, 9}));
}

TEST(HalvedPairs, RowsOfAMatrixMoveAsAWhole) {
  const Value weight = halved_pairs(counted("k_proj.weight", {4, 2}), 4, 4);
  EXPECT_EQ(read(weight, 0, 8), (std::vector<float>{0, 1, 4, 5, 2, 3, 6, 7}));
  EXPECT_EQ(read(weight, 2, 4), (std::vector<float>{4, 5, 2, 3}));
}

}  // namespace
}  // namespace lathe
