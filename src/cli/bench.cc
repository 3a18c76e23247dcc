#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <vector>

#include "artifact/read.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "lathe/language_model.h"
#include "support/error.h"
#include "support/thread_pool.h"

namespace lathe::cli {
namespace {

/// Far beyond any context, and no sum of two overflows.
constexpr int64_t kMostTokens = int64_t{1} << 30;

struct Arguments {
  std::vector<std::filesystem::path> models;
  OpenOptions open;
  int64_t prompt = 128;
  int64_t generate = 64;
  int64_t depth = 0;
  int repetitions = 5;
  bool json = false;
};

struct Spread {
  double median = 0.0;
  double min = 0.0;
  double max = 0.0;
};

Spread spread(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  const size_t half = samples.size() / 2;
  const double median =
      samples.size() % 2 == 1 ? samples[half] : 0.5 * (samples[half - 1] + samples[half]);
  return {median, samples.front(), samples.back()};
}

nlohmann::ordered_json to_json(const Spread& s) {
  return {{"median", s.median}, {"min", s.min}, {"max", s.max}};
}

/// Ids without a pattern, the same on every machine.
std::vector<int64_t> scattered_ids(int64_t count, int64_t vocab) {
  std::vector<int64_t> ids;
  uint64_t state = 1;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    ids.push_back(static_cast<int64_t>((state >> 33) % static_cast<uint64_t>(vocab)));
  }
  return ids;
}

template <typename Work>
double seconds(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct Measurement {
  Spread prefill;
  Spread decode;
};

Measurement measure(const Arguments& arguments, LanguageModel& model) {
  Runner& runner = model.runner();
  const int64_t longest = std::max(arguments.prompt, arguments.depth + arguments.generate);
  if (longest > runner.context()) {
    fail({.what = "the benchmark needs more tokens than the model's context",
          .expected = fmt::format("at most {}", runner.context()),
          .found = std::to_string(longest),
          .advice = "lower -p, -d or -n, or compile with a larger --context"});
  }
  const std::vector<int64_t> ids = scattered_ids(longest, runner.vocab());
  const std::span<const int64_t> all(ids);
  std::vector<double> prefill;
  std::vector<double> decode;
  const auto once = [&](bool keep) {
    if (arguments.prompt > 0) {
      runner.reset();
      const auto prompt = all.first(static_cast<size_t>(arguments.prompt));
      const double time = seconds([&] { runner.prefill(prompt); });
      if (keep) prefill.push_back(static_cast<double>(arguments.prompt) / time);
    }
    if (arguments.generate > 0) {
      runner.reset();
      if (arguments.depth > 0) runner.prefill(all.first(static_cast<size_t>(arguments.depth)));
      const auto rest = all.subspan(static_cast<size_t>(arguments.depth),
                                    static_cast<size_t>(arguments.generate));
      const double time = seconds([&] {
        for (const int64_t id : rest) argmax(runner.step(id));
      });
      if (keep) decode.push_back(static_cast<double>(arguments.generate) / time);
    }
  };
  once(false);
  for (int i = 0; i < arguments.repetitions; ++i) once(true);
  return {spread(std::move(prefill)), spread(std::move(decode))};
}

void run(const Arguments& arguments) {
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  const int threads = thread_count(arguments.open.threads);
  const char* executor = arguments.open.executor == ExecutorKind::cpu ? "cpu" : "reference";
  // A model that cannot be opened is found before the first has been measured for a while.
  for (const std::filesystem::path& path : arguments.models) read_model(path, WeightCheck::sizes);
  for (const std::filesystem::path& path : arguments.models) {
    const std::unique_ptr<LanguageModel> model = LanguageModel::open(path, arguments.open);
    const Measurement result = measure(arguments, *model);
    results.push_back({{"model", path.string()},
                       {"executor", executor},
                       {"threads", threads},
                       {"prompt", arguments.prompt},
                       {"depth", arguments.depth},
                       {"prefill_tokens_per_s", to_json(result.prefill)},
                       {"decode_tokens_per_s", to_json(result.decode)}});
    if (arguments.json) continue;
    std::cout << fmt::format(
        "{}: {} executor, {} threads\n"
        "  prompt of {}: {:.1f} tokens/s ({:.1f} to {:.1f})\n"
        "  {} generated at depth {}: {:.1f} tokens/s ({:.1f} to {:.1f})\n",
        path.string(), executor, threads, arguments.prompt, result.prefill.median,
        result.prefill.min, result.prefill.max, arguments.generate, arguments.depth,
        result.decode.median, result.decode.min, result.decode.max);
  }
  if (arguments.json) print_json({{"results", results}});
}

}  // namespace

void add_bench(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = add_command(app, "bench", "Measure prompt and generation speed",
                                  "lathe bench smol.lathe -p 128 -n 64 -d 512");
  command->add_option("MODEL", arguments->models, "Artifacts made by lathe compile")
      ->required()
      ->type_name("FILE");
  command->add_option("-p", arguments->prompt, "Tokens of the prompt (0: skip)")
      ->check(between(0, kMostTokens))
      ->capture_default_str();
  command->add_option("-n", arguments->generate, "Tokens to generate (0: skip)")
      ->check(between(0, kMostTokens))
      ->capture_default_str();
  command->add_option("-d", arguments->depth, "Tokens in the cache before generation")
      ->check(between(0, kMostTokens))
      ->capture_default_str();
  command->add_option("-r", arguments->repetitions, "Repetitions, after one that does not count")
      ->check(between(1, 10000))
      ->capture_default_str();
  add_open_options(*command, arguments->open);
  add_json(*command, arguments->json);
  command->callback([arguments] { run(*arguments); });
}

}  // namespace lathe::cli
