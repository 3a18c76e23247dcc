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
      plan.steps[i].step =
          std::make_unique<TimedStep>(std::move(plan.steps[i].step), (*spent_)[i]);
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
    kind->bytes += cost.weight_bytes +
                   static_cast<int64_t>(static_cast<double>(cost.cache_bytes) * filled);
  }
  return kinds;
}

double sum_of(const std::vector<double>& each, const Kind& kind) {
  double sum = 0.0;
  for (const size_t step : kind.steps) sum += each[step];
  return sum;
}

void print_row(std::string_view times, const std::vector<double>& memory,
               const std::vector<double>& cache, int64_t bytes, std::string_view what) {
  const double each = spread(memory).median;
  const double rate = static_cast<double>(bytes) / each / 1e6;
  std::cout << fmt::format("{:>5}{:>9.3f}{:>9.3f}{:>12}{:>8}  {}\n", times, each,
                           spread(cache).median, bytes,
                           bytes < 1'000'000 ? "" : fmt::format("{:.1f}", rate), what);
}

void run(const Arguments& arguments) {
  const auto pool = std::make_shared<ThreadPool>(thread_count(arguments.threads));
  const Model model = read_model(arguments.model);
  TimedModel from_memory(model, /*weights_in_cache=*/false, pool);
  TimedModel from_cache(model, /*weights_in_cache=*/true, pool);
  const std::vector<int64_t> ids =
      scattered_ids(arguments.depth + arguments.generate, from_memory.runner().vocab());
  const std::span<const int64_t> all(ids);
  const auto depth = static_cast<size_t>(arguments.depth);
  for (TimedModel* const timed : {&from_memory, &from_cache}) {
    if (depth > 0) timed->runner().prefill(all.first(depth));
  }

  const double middle = static_cast<double>(arguments.depth) +
                        static_cast<double>(arguments.generate) / 2.0;
  const std::vector<Kind> kinds = kinds_of(
      from_memory.steps(), middle / static_cast<double>(from_memory.runner().context()));
  constexpr size_t kWeights = 2;  // samples of a round: either kind of weights, and a plain read
  std::vector<std::vector<std::vector<double>>> samples(kWeights);  // [kWeights][round][step], ms
  const std::vector<double> read =
      interleave(kWeights + 1, arguments.rounds, [&](size_t which) {
        if (which == kWeights) return sustained_read_rate(*pool, 0.5) / 1e9;
        TimedModel& timed = which == 0 ? from_memory : from_cache;
        timed.runner().truncate(arguments.depth);
        samples[which].push_back(timed.generate(all.subspan(depth)));
        return 0.0;
      }).back();

  // What the round has that does not count, see interleave().
  for (auto& rounds : samples) rounds.erase(rounds.begin());
  std::cout << fmt::format(
      "a token at depth {}, {} threads, medians of {} rounds of {} tokens; a plain read of memory "
      "has {:.1f} GB/s\n{:>5}{:>9}{:>9}{:>12}{:>8}  step\n",
      arguments.depth, pool->size(), arguments.rounds, arguments.generate, spread(read).median,
      "times", "ms", "cached", "bytes", "GB/s");
  const auto by_round = [&](size_t which, const auto& value) {
    std::vector<double> values;
    for (const std::vector<double>& each : samples[which]) values.push_back(value(each));
    return values;
  };
  Kind whole{"all steps"};
  for (const Kind& kind : kinds) {
    const auto time = [&](const std::vector<double>& each) { return sum_of(each, kind); };
    print_row(std::to_string(kind.steps.size()), by_round(0, time), by_round(1, time), kind.bytes,
              kind.what);
    whole.steps.insert(whole.steps.end(), kind.steps.begin(), kind.steps.end());
    whole.bytes += kind.bytes;
  }
  const auto time = [&](const std::vector<double>& each) { return sum_of(each, whole); };
  print_row("", by_round(0, time), by_round(1, time), whole.bytes, whole.what);
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
