#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "decode/runner.h"

namespace lathe {

/// What samples of one quantity have in common: the middle, and how far they lie apart.
struct Spread {
  double median = 0.0;
  double min = 0.0;
  double max = 0.0;
};

/// Of no samples: zeros.
Spread spread(std::vector<double> samples);

/// numerators[i] / denominators[i]: of samples taken side by side, so that what slowed both down
/// does not count.
std::vector<double> ratios(const std::vector<double>& numerators,
                           const std::vector<double>& denominators);

/// Calls sample(i) once for every i in [0, count) in each of `rounds` rounds and gives the samples
/// by i, then by round. Every other round goes backwards, so that a machine that grows slower or
/// faster favours none. A round before them, forwards, does not count.
std::vector<std::vector<double>> interleave(size_t count, int rounds,
                                            const std::function<double(size_t)>& sample);

/// Ids without a pattern, in [0, vocab), the same on every machine.
std::vector<int64_t> scattered_ids(int64_t count, int64_t vocab);

/// Tokens a second while `ids` are appended one by one and the most probable next one is looked up
/// after each. They fit remaining(); at least one.
double generation_speed(Runner& runner, std::span<const int64_t> ids);

/// How long work() takes.
template <typename Work>
double seconds(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace lathe
