#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "executors/cpu/kernels/kernels.h"

namespace lathe {

/// A test that runs once for every instruction set of this processor.
class KernelTest : public testing::TestWithParam<Isa> {
 protected:
  const Kernels& kernels() const { return kernels_for(GetParam()); }
  /// What every instruction set must equal bit for bit.
  const Kernels& portable() const { return kernels_for(Isa::portable); }
};

#define LATHE_ON_EVERY_ISA(suite)                                             \
  INSTANTIATE_TEST_SUITE_P(Isa, suite, testing::ValuesIn(available_isas()),   \
                           [](const testing::TestParamInfo<Isa>& parameter) { \
                             return std::string(name_of(parameter.param));    \
                           })

/// Memory as kernels want it: aligned to 64 bytes, and exactly as long as asked, so that the
/// address sanitizer sees every access beyond.
template <typename T>
class Aligned {
 public:
  explicit Aligned(size_t count)
      : data_(static_cast<T*>(::operator new(count * sizeof(T), std::align_val_t{64}))) {}
  ~Aligned() { ::operator delete(data_, std::align_val_t{64}); }
  Aligned(const Aligned&) = delete;
  Aligned& operator=(const Aligned&) = delete;
  T* data() { return data_; }

 private:
  T* data_;
};

template <typename T>
std::vector<T> random_codes(size_t count, uint32_t seed, int low, int high) {
  std::mt19937 generator(seed);
  std::uniform_int_distribution<int> distribution(low, high);
  std::vector<T> codes(count);
  for (T& code : codes) code = static_cast<T>(distribution(generator));
  return codes;
}

inline std::vector<uint16_t> random_u16(size_t count, uint32_t seed) {
  return random_codes<uint16_t>(count, seed, 0, 65535);
}

// The rules of docs/numerics.md, one value at a time.

inline float reference_decode(int code, Affine encoding) {
  return static_cast<float>(code - encoding.zero_point) * encoding.scale;
}

inline int reference_encode(float real, Affine encoding, int code_max = 65535) {
  const double code =
      std::nearbyint(real / encoding.scale) + static_cast<double>(encoding.zero_point);
  return static_cast<int>(std::fmin(std::fmax(code, 0.0), code_max));
}

/// An integer accumulator to codes: one rescale in float64.
inline int reference_rescale(int64_t accumulator, double multiplier, int zero_point, int low = 0,
                             int high = 65535) {
  const double code = std::nearbyint(static_cast<double>(accumulator) * multiplier) + zero_point;
  return static_cast<int>(std::fmin(std::fmax(code, low), high));
}

inline int largest_difference(const std::vector<uint16_t>& a, const std::vector<uint16_t>& b) {
  int largest = a.size() == b.size() ? 0 : 65536;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<int>(a[i]) - static_cast<int>(b[i])));
  }
  return largest;
}

}  // namespace lathe
