#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "support/safetensors.h"

namespace lathe::testing {

/// tests/data
std::filesystem::path test_data();

/// A golden.safetensors: values that Hugging Face's transformers 5.24 gave with torch 2.15 in
/// float32 (eager attention, batch 1, no padding, positions from 0); those of gemma and glm are from
/// tests/tools/write_tiny_family.py, in float64.
class Golden {
 public:
  explicit Golden(const std::filesystem::path& path) : file_(SafetensorsFile::open(path)) {}

  bool has(const std::string& name) const { return file_.find(name) != nullptr; }
  std::vector<float> floats(const std::string& name) const;
  std::vector<int64_t> ids(const std::string& name) const;
  const Shape& shape(const std::string& name) const { return file_.get(name).shape; }

 private:
  SafetensorsFile file_;
};

/// The largest |a[i] - b[i]|; infinity where the lengths differ or a difference is not a number.
double max_difference(std::span<const float> a, std::span<const float> b);

/// How many steps of a greedy run an implementation with this error of a logit must repeat. Two
/// logits that are wrong by the error in opposite directions change places where the recorded
/// margin (largest minus second largest logit) is below twice the error, and all that follows is
/// then another text.
size_t comparable_steps(std::span<const float> margins, double logit_error);

/// Index of the largest element, the first of equals.
int64_t argmax(std::span<const float> row);

/// Prints a measured figure and keeps it in the test's XML report.
void report_figure(const std::string& name, double value);

}  // namespace lathe::testing
