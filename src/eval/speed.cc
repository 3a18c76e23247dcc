#include "eval/speed.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace lathe {

Spread spread(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  const size_t half = samples.size() / 2;
  const double median =
      samples.size() % 2 == 1 ? samples[half] : 0.5 * (samples[half - 1] + samples[half]);
  return {median, samples.front(), samples.back()};
}

std::vector<double> ratios(const std::vector<double>& numerators,
                           const std::vector<double>& denominators) {
  std::vector<double> result;
  std::transform(numerators.begin(), numerators.end(), denominators.begin(),
                 std::back_inserter(result), [](double a, double b) { return a / b; });
  return result;
}

std::vector<std::vector<double>> interleave(size_t count, int rounds,
                                            const std::function<double(size_t)>& sample) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  for (const size_t i : order) sample(i);
  std::vector<std::vector<double>> samples(count);
  for (int round = 0; round < rounds; ++round) {
    for (const size_t i : order) samples[i].push_back(sample(i));
    std::reverse(order.begin(), order.end());
  }
  return samples;
}

std::vector<int64_t> scattered_ids(int64_t count, int64_t vocab) {
  std::vector<int64_t> ids;
  uint64_t state = 1;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    ids.push_back(static_cast<int64_t>((state >> 33) % static_cast<uint64_t>(vocab)));
  }
  return ids;
}

double generation_speed(Runner& runner, std::span<const int64_t> ids) {
  const double time = seconds([&] {
    for (const int64_t id : ids) argmax(runner.step(id));
  });
  return static_cast<double>(ids.size()) / time;
}

}  // namespace lathe
