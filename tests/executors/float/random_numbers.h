#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace lathe {

/// `count` numbers in [-1, 1), the same on every machine.
inline std::vector<float> random_numbers(size_t count, uint32_t seed) {
  std::mt19937 generator(seed);
  std::vector<float> numbers(count);
  for (float& number : numbers) {
    number = static_cast<float>(static_cast<int32_t>(generator())) * 0x1p-31f;
  }
  return numbers;
}

}  // namespace lathe
