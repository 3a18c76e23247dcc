// Where the time of a generated token goes, step by step, and how much of it is waiting for memory:
//   steps smol.lathe            at depth 0
//   steps smol.lathe -d 900     behind 900 tokens
// The same plan runs in turns on the model's weights and on as many bytes of weights that lie in
// the second-level cache. What that saves is the memory's part of a token; what is left is
// arithmetic, waiting for the other threads, and the caches of keys and values.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "artifact/read.h"
#include "decode/runner.h"
#include "eval/speed.h"
#include "executors/cpu/plan_listing.h"
#include "executors/cpu/session.h"
#include "limits/machine.h"
#include "limits/repeated_memory.h"

namespace lathe::bench {
namespace {

struct Arguments {
  std::filesystem::path model;
  int64_t depth = 0;
  int64_t generate = 32;
  int rounds = 5;
  int threads = 0;
};

using Clock = std::chrono::steady_clock;

/// A step that adds up how long it runs.
class TimedStep final : public Step {
 public:
  explicit TimedStep(std::unique_ptr<Step> step, Clock::duration& spent)
      : step_(std::move(step)), spent_(spent) {}

  void run(const Frame& frame) const noexcept override {
    const Clock::time_point begin = Clock::now();
    step_->run(frame);
    spent_ += Clock::now() - begin;
  }
  const char* name() const override { return step_->name(); }

 private:
  std::unique_ptr<Step> step_;
  Clock::duration& spent_;
};

/// The decode graph of a model, timed step by step.
class TimedModel {
 public:
  TimedModel(const Model& model, bool weights_in_cache, const std::shared_ptr<ThreadPool>& pool)
      : decode_(model.graph(GraphRole::decode)), spent_(std::make_shared<Spent>()) {
    Plan plan = lower(decode_, pool->size());
    steps_ = list_steps(decode_, plan);
    spent_->resize(plan.steps.size());
    for (size_t i = 0; i < plan.steps.size(); ++i) {
      plan.steps[i].step = std::make_unique<TimedStep>(std::move(plan.steps[i].step), (*spent_)[i]);
    }
    if (weights_in_cache) put_weights_in_cache(plan);
    const Graph* const prefill = model.find(GraphRole::prefill);
    runner_ = std::make_unique<Runner>(
        make_cpu_session(decode_.io(), std::move(plan), pool),
        prefill == nullptr ? nullptr : make_cpu_session(*prefill, pool), RunMode::hybrid);
  }

  Runner& runner() { return *runner_; }
  const std::vector<ListedStep>& steps() const { return steps_; }

  /// Milliseconds a token of every step, while `ids` are appended.
  std::vector<double> generate(std::span<const int64_t> ids) {
    std::fill(spent_->begin(), spent_->end(), Clock::duration::zero());
    generation_speed(*runner_, ids);
    std::vector<double> each;
    for (const Clock::duration spent : *spent_) {
      each.push_back(std::chrono::duration<double, std::milli>(spent).count() /
                     static_cast<double>(ids.size()));
    }
    return each;
  }

 private:
  /// All weights become the beginning of the largest. What is computed with them is meaningless.
  static void put_weights_in_cache(Plan& plan) {
    const auto is_weight = [](const Buffer& buffer) {
      return buffer.kind == Buffer::Kind::constant && buffer.bytes > RepeatedMemory::kBytes;
    };
    const auto largest = std::max_element(
        plan.buffers.begin(), plan.buffers.end(), [&](const Buffer& a, const Buffer& b) {
          return (is_weight(a) ? a.bytes : 0) < (is_weight(b) ? b.bytes : 0);
        });
    const RepeatedMemory memory({largest->constant.get(), largest->bytes});
    for (Buffer& buffer : plan.buffers) {
      if (is_weight(buffer)) buffer.constant = memory.view(buffer.bytes);
    }
  }

  using Spent = std::vector<Clock::duration>;  // by step
  Graph decode_;
  std::vector<ListedStep> steps_;
  std::shared_ptr<Spent> spent_;  // the session's steps refer to it
  std::unique_ptr<Runner> runner_;
};

/// Steps that do the same in every layer.
struct Kind {
  std::string what;
  std::vector<size_t> steps = {};
  int64_t bytes = 0;  ///< of weights, and of caches as far as they are filled
};

std::vector<Kind> kinds_of(const std::vector<ListedStep>& steps, double filled) {
  std::vector<Kind> kinds;
  for (size_t i = 0; i < steps.size(); ++i) {
    const std::string what =
        fmt::format("{:<28} {}", steps[i].name, without_numbers(join_modules(steps[i].modules)));
    auto kind = std::find_if(kinds.begin(), kinds.end(),
                             [&](const Kind& other) { return other.what == what; });
    if (kind == kinds.end()) kind = kinds.insert(kinds.end(), Kind{what});
    kind->steps.push_back(i);
    const StepCost& cost = steps[i].cost;
    kind->bytes +=
        cost.weight_bytes + static_cast<int64_t>(static_cast<double>(cost.cache_bytes) * filled);
  }
  return kinds;
}

/// What the rounds gave: milliseconds a token, by round and step, and the rate of a plain read.
struct Samples {
  std::vector<std::vector<double>> from_memory;
  std::vector<std::vector<double>> from_cache;
  double read_bytes_per_s = 0.0;
};

Samples measure(const Arguments& arguments, TimedModel& from_memory, TimedModel& from_cache,
                ThreadPool& pool) {
  const std::vector<int64_t> ids =
      scattered_ids(arguments.depth + arguments.generate, from_memory.runner().vocab());
  const std::span<const int64_t> all(ids);
  const auto depth = static_cast<size_t>(arguments.depth);
  Samples samples;
  const auto generate = [&](TimedModel& model, std::vector<std::vector<double>>& rounds) {
    if (rounds.empty() && depth > 0) model.runner().prefill(all.first(depth));
    model.runner().truncate(arguments.depth);
    rounds.push_back(model.generate(all.subspan(depth)));
    return 0.0;
  };
  const std::vector<double> read = interleave(3, arguments.rounds, [&](size_t which) {
                                     if (which == 0) {
                                       return generate(from_memory, samples.from_memory);
                                     }
                                     if (which == 1)
                                       return generate(from_cache, samples.from_cache);
                                     return sustained_read_rate(pool, 0.5);
                                   }).back();
  // The round that does not count, see interleave().
  samples.from_memory.erase(samples.from_memory.begin());
  samples.from_cache.erase(samples.from_cache.begin());
  samples.read_bytes_per_s = spread(read).median;
  return samples;
}

double median_of(const Kind& kind, const std::vector<std::vector<double>>& rounds) {
  std::vector<double> sums;
  for (const std::vector<double>& each : rounds) {
    double& sum = sums.emplace_back(0.0);
    for (const size_t step : kind.steps) sum += each[step];
  }
  return spread(std::move(sums)).median;
}

void print(const Kind& kind, const Samples& samples) {
  // Of a step that reads next to nothing a rate says nothing.
  constexpr int64_t kWorthARate = 1'000'000;
  const double time = median_of(kind, samples.from_memory);
  const double gigabytes = static_cast<double>(kind.bytes) / 1e9;
  std::cout << fmt::format(
      "{:>5}{:>9.3f}{:>9.3f}{:>12}{:>8}  {}\n", kind.steps.size(), time,
      median_of(kind, samples.from_cache), kind.bytes,
      kind.bytes < kWorthARate ? "" : fmt::format("{:.1f}", 1000.0 * gigabytes / time), kind.what);
}

void run(const Arguments& arguments) {
  const auto pool = std::make_shared<ThreadPool>(thread_count(arguments.threads));
  const Model model = read_model(arguments.model);
  TimedModel from_memory(model, /*weights_in_cache=*/false, pool);
  TimedModel from_cache(model, /*weights_in_cache=*/true, pool);
  const Samples samples = measure(arguments, from_memory, from_cache, *pool);

  const double filled =
      static_cast<double>(arguments.depth) + static_cast<double>(arguments.generate) / 2.0;
  const std::vector<Kind> kinds =
      kinds_of(from_memory.steps(), filled / static_cast<double>(from_memory.runner().context()));
  std::cout << fmt::format(
      "a token at depth {}, {} threads, medians of {} rounds of {} tokens; a plain read of memory "
      "has {:.1f} GB/s\n{:>5}{:>9}{:>9}{:>12}{:>8}  step\n",
      arguments.depth, pool->size(), arguments.rounds, arguments.generate,
      samples.read_bytes_per_s / 1e9, "steps", "ms", "cached", "bytes", "GB/s");
  Kind whole{"all"};
  for (const Kind& kind : kinds) {
    print(kind, samples);
    whole.steps.insert(whole.steps.end(), kind.steps.begin(), kind.steps.end());
    whole.bytes += kind.bytes;
  }
  print(whole, samples);
}

}  // namespace
}  // namespace lathe::bench

int main(int argc, char** argv) {
  CLI::App app("Where the time of a generated token goes, and how much of it waits for memory.",
               "steps");
  lathe::bench::Arguments arguments;
  app.add_option("MODEL", arguments.model, "Artifact made by lathe compile")
      ->required()
      ->check(CLI::ExistingFile);
  app.add_option("-d", arguments.depth, "Tokens in the cache before generation")
      ->check(CLI::Range(0, 1 << 20));
  app.add_option("-n", arguments.generate, "Tokens to generate")->check(CLI::Range(1, 1 << 20));
  app.add_option("-r", arguments.rounds, "Rounds, after one that does not count")
      ->check(CLI::Range(1, 10000));
  app.add_option("--threads", arguments.threads, "Threads (default: one for each physical core)")
      ->check(CLI::Range(1, 1024));
  CLI11_PARSE(app, argc, argv);
  try {
    lathe::bench::run(arguments);
  } catch (const std::exception& error) {
    std::cerr << "steps: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
