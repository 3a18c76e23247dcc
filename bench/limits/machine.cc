#include "limits/machine.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "eval/speed.h"
#include "executors/cpu/kernels/kernels.h"
#include "limits/loops.h"

namespace lathe::bench {
namespace {

constexpr int kAttempts = 7;
constexpr int64_t kStreamBytes = int64_t{1} << 30;
constexpr int64_t kPrefetchDistances[] = {0, 1024, 2048, 4096, 8192};
/// Some milliseconds of the slowest loop.
constexpr int64_t kSteps = int64_t{1} << 20;

struct AlignedDelete {
  void operator()(uint8_t* memory) const { ::operator delete(memory, std::align_val_t{64}); }
};

/// Touched, so that its pages are there.
std::unique_ptr<uint8_t[], AlignedDelete> filled(int64_t bytes) {
  const auto size = static_cast<size_t>(bytes);
  auto* memory = static_cast<uint8_t*>(::operator new(size, std::align_val_t{64}));
  std::memset(memory, 1, size);
  return std::unique_ptr<uint8_t[], AlignedDelete>(memory);
}

/// `amount` over the shortest time of work().
template <typename Work>
double best_rate(double amount, const Work& work) {
  double shortest = seconds(work);
  for (int i = 1; i < kAttempts; ++i) shortest = std::min(shortest, seconds(work));
  return amount / shortest;
}

/// A place for results, so that they are needed.
std::atomic<int32_t> g_sink{0};

void read_once(ThreadPool& pool, const Loops& loops, const uint8_t* memory, int64_t ahead) {
  pool.split(kStreamBytes, 4096, [&](int64_t begin, int64_t end) {
    g_sink += loops.read(memory + begin, end - begin, ahead);
  });
}

double read_rate(ThreadPool& pool, const Loops& loops, const uint8_t* memory) {
  double best = 0.0;
  for (const int64_t ahead : kPrefetchDistances) {
    best = std::max(best, best_rate(static_cast<double>(kStreamBytes),
                                    [&] { read_once(pool, loops, memory, ahead); }));
  }
  return best;
}

double product_rate(ThreadPool& pool, const Loops& loops,
                    int32_t (*multiply)(const uint8_t*, int64_t), const uint8_t* operands) {
  const double products = static_cast<double>(pool.size()) *
                          static_cast<double>(loops.products_per_step) *
                          static_cast<double>(kSteps);
  return best_rate(products, [&] { pool.run([&](int) { g_sink += multiply(operands, kSteps); }); });
}

}  // namespace

const ProductRates* MachineLimits::find(Isa isa) const {
  const auto found = std::find_if(products.begin(), products.end(),
                                  [&](const ProductRates& rates) { return rates.isa == isa; });
  return found == products.end() ? nullptr : &*found;
}

MachineLimits measure_limits(ThreadPool& pool) {
  ThreadPool alone(1);
  const auto memory = filled(kStreamBytes);
  MachineLimits limits;
  for (const Isa isa : available_isas()) {
    const std::optional<Loops> loops = loops_for(isa);
    if (!loops) continue;
    const auto of_products = [&](auto multiply) {
      return Rates{product_rate(alone, *loops, multiply, memory.get()),
                   product_rate(pool, *loops, multiply, memory.get())};
    };
    limits.products.push_back(
        {isa, loops->instruction, of_products(loops->from_registers), of_products(loops->from_l1)});
    Rates& read = limits.read_bytes;
    read.one = std::max(read.one, read_rate(alone, *loops, memory.get()));
    read.all = std::max(read.all, read_rate(pool, *loops, memory.get()));
  }
  return limits;
}

double sustained_read_rate(ThreadPool& pool, double duration) {
  const std::optional<Loops> loops = loops_for(select_kernels().isa);
  if (!loops) return 0.0;
  const auto memory = filled(kStreamBytes);
  std::vector<double> rates[std::size(kPrefetchDistances)];
  for (double passed = 0.0; passed < duration;) {
    for (size_t i = 0; i < std::size(rates); ++i) {
      const double time =
          seconds([&] { read_once(pool, *loops, memory.get(), kPrefetchDistances[i]); });
      rates[i].push_back(static_cast<double>(kStreamBytes) / time);
      passed += time;
    }
  }
  double best = 0.0;
  for (std::vector<double>& of_distance : rates) {
    best = std::max(best, spread(std::move(of_distance)).median);
  }
  return best;
}

}  // namespace lathe::bench
