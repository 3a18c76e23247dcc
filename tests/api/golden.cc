#include "api/golden.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iostream>
#include <limits>

namespace lathe::testing {
namespace {

/// Tensors of a file have any alignment, so they are copied.
template <typename T>
std::vector<T> copy_tensor(const SafetensorsFile& file, const std::string& name, DType dtype) {
  const SafetensorsEntry& entry = file.get(name);
  if (entry.dtype != dtype) throw std::logic_error("golden tensor of another type: " + name);
  std::vector<T> values(entry.size / sizeof(T));
  std::memcpy(values.data(), file.bytes(entry).data(), entry.size);
  return values;
}

}  // namespace

std::filesystem::path test_data() { return LATHE_TEST_DATA; }

std::vector<float> Golden::floats(const std::string& name) const {
  return copy_tensor<float>(file_, name, DType::f32);
}

std::vector<int64_t> Golden::ids(const std::string& name) const {
  return copy_tensor<int64_t>(file_, name, DType::i64);
}

double max_difference(std::span<const float> a, std::span<const float> b) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (a.size() != b.size()) return kInfinity;
  double largest = 0.0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - b[i]);
    if (std::isnan(difference)) return kInfinity;
    largest = std::max(largest, difference);
  }
  return largest;
}

size_t comparable_steps(std::span<const float> margins, double logit_error) {
  const auto first = std::find_if(margins.begin(), margins.end(),
                                  [&](float margin) { return margin < 2.0 * logit_error; });
  return static_cast<size_t>(first - margins.begin());
}

int64_t argmax(std::span<const float> row) {
  return std::max_element(row.begin(), row.end()) - row.begin();
}

void report_figure(const std::string& name, double value) {
  const std::string text = fmt::format("{:.6g}", value);
  std::cout << "[  FIGURE  ] " << name << ": " << text << '\n';
  ::testing::Test::RecordProperty(name, text);
}

}  // namespace lathe::testing
