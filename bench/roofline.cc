// What this machine can do at most, and how much of that a compiled model makes use of:
//   roofline                       the limits alone
//   roofline smol.lathe            and the speeds of a model as shares of them
//   roofline --no-speeds --json MODEL...   its limits in tokens a second, for who measures himself
//   roofline --read 1 --json       bytes a second read of memory just now, for who measures in
//   turns

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "artifact/read.h"
#include "eval/speed.h"
#include "executors/cpu/kernels/kernels.h"
#include "lathe/language_model.h"
#include "limits/demand.h"
#include "limits/machine.h"

namespace lathe::bench {
namespace {

struct Arguments {
  std::vector<std::filesystem::path> models;
  std::vector<int64_t> prompts{32, 128, 512};
  std::vector<int64_t> depths{0, 256, 900};
  int64_t generate = 64;
  int repetitions = 5;
  int threads = 0;
  double read_for = 0.0;  ///< seconds; 0: everything is measured
  bool no_speeds = false;
  bool json = false;
};

/// A prompt, or tokens behind a depth of cache, and how fast it can be and is.
struct Line {
  std::string measure;
  std::string bound;               ///< what sets the limit
  double limit = 0.0;              ///< tokens a second; 0: not known
  double bytes = 0.0;              ///< read for a token, where that is the bound
  std::optional<Spread> measured;  ///< tokens a second
};

/// As `lathe bench` measures.
Spread measure(Runner& runner, int64_t prompt, int64_t depth, int64_t generate, int repetitions) {
  const std::vector<int64_t> ids = scattered_ids(prompt + depth + generate, runner.vocab());
  const std::span<const int64_t> all(ids);
  const auto once = [&](size_t) {
    runner.reset();
    if (prompt > 0) {
      return static_cast<double>(prompt) / seconds([&] { runner.prefill(all); });
    }
    if (depth > 0) runner.prefill(all.first(static_cast<size_t>(depth)));
    return generation_speed(runner, all.subspan(static_cast<size_t>(depth)));
  };
  return spread(interleave(1, repetitions, once).front());
}

std::vector<Line> lines_of(const Arguments& arguments, const MachineLimits& limits,
                           const std::filesystem::path& path) {
  const Demand demand = demand_of(read_model(path, WeightCheck::sizes));
  const ProductRates* products = limits.find(select_kernels().isa);
  std::unique_ptr<LanguageModel> model;
  OpenOptions options;
  options.threads = arguments.threads;
  if (!arguments.no_speeds) model = LanguageModel::open(path, options);
  const auto measured = [&](int64_t prompt, int64_t depth, int64_t generate) {
    return model ? std::optional<Spread>(
                       measure(model->runner(), prompt, depth, generate, arguments.repetitions))
                 : std::nullopt;
  };
  std::vector<Line> lines;
  for (const int64_t prompt : arguments.prompts) {
    Line line{fmt::format("prompt {}", prompt), "multiply-adds", 0.0, 0.0, measured(prompt, 0, 0)};
    if (products != nullptr) {
      line.limit = static_cast<double>(prompt) * products->from_registers.all /
                   demand.prompt_products(prompt);
    }
    lines.push_back(std::move(line));
  }
  for (const int64_t depth : arguments.depths) {
    const double bytes = demand.token_bytes(depth);
    lines.push_back({fmt::format("decode at depth {}", depth), "reading",
                     limits.read_bytes.all / bytes, bytes, measured(0, depth, arguments.generate)});
  }
  return lines;
}

nlohmann::ordered_json to_json(const Rates& rates) {
  return {{"one_thread", rates.one}, {"all_threads", rates.all}};
}

nlohmann::ordered_json to_json(const MachineLimits& limits) {
  nlohmann::ordered_json products = nlohmann::ordered_json::array();
  for (const ProductRates& rates : limits.products) {
    products.push_back({{"isa", name_of(rates.isa)},
                        {"instruction", rates.instruction},
                        {"from_registers", to_json(rates.from_registers)},
                        {"from_l1", to_json(rates.from_l1)}});
  }
  return {{"read_bytes_per_s", to_json(limits.read_bytes)}, {"byte_products_per_s", products}};
}

nlohmann::ordered_json to_json(const Line& line) {
  nlohmann::ordered_json json{
      {"measure", line.measure}, {"bound", line.bound}, {"limit_tokens_per_s", line.limit}};
  if (line.bytes > 0.0) json["bytes_per_token"] = line.bytes;
  if (line.measured) {
    json["tokens_per_s"] = {{"median", line.measured->median},
                            {"min", line.measured->min},
                            {"max", line.measured->max}};
  }
  return json;
}

void print(const MachineLimits& limits, int threads) {
  constexpr double kGiga = 1e9;
  const auto row = [&](const std::string& name, const Rates& rates, const char* unit) {
    std::cout << fmt::format("  {:<38} {:>8.1f} {:>8.1f} {}\n", name, rates.one / kGiga,
                             rates.all / kGiga, unit);
  };
  std::cout << fmt::format("limits of this machine                   1 thread  {} threads\n",
                           threads);
  row("memory, read in order", limits.read_bytes, "GB/s");
  for (const ProductRates& rates : limits.products) {
    const std::string name = fmt::format("{} ({})", name_of(rates.isa), rates.instruction);
    row(name + ", from registers", rates.from_registers, "billion byte products/s");
    row(name + ", from L1", rates.from_l1, "billion byte products/s");
  }
}

void print(const std::filesystem::path& path, const std::vector<Line>& lines) {
  std::cout << path.string() << '\n';
  for (const Line& line : lines) {
    std::cout << fmt::format("  {:<22} at most {:>8.1f} tokens/s ({})", line.measure, line.limit,
                             line.bound);
    if (line.measured) {
      std::cout << fmt::format(", measured {:.1f} ({:.1f} to {:.1f})", line.measured->median,
                               line.measured->min, line.measured->max);
      if (line.limit > 0.0) {
        std::cout << fmt::format(": {:.0f} %", 100.0 * line.measured->median / line.limit);
      }
    }
    std::cout << '\n';
  }
}

void print_read_rate(int threads, const Arguments& arguments) {
  ThreadPool pool(threads);
  const double rate = sustained_read_rate(pool, arguments.read_for);
  if (arguments.json) {
    std::cout << nlohmann::ordered_json{{"read_bytes_per_s", rate}}.dump(2) << '\n';
  } else {
    std::cout << fmt::format("{:.1f} GB/s read by {} threads\n", rate / 1e9, threads);
  }
}

void run(const Arguments& arguments) {
  const int threads = thread_count(arguments.threads);
  if (arguments.read_for > 0.0) {
    print_read_rate(threads, arguments);
    return;
  }
  nlohmann::ordered_json models = nlohmann::ordered_json::array();
  MachineLimits limits;
  {
    ThreadPool pool(threads);
    limits = measure_limits(pool);
  }
  if (!arguments.json) print(limits, threads);
  for (const std::filesystem::path& path : arguments.models) {
    const std::vector<Line> lines = lines_of(arguments, limits, path);
    if (!arguments.json) print(path, lines);
    nlohmann::ordered_json measures = nlohmann::ordered_json::array();
    for (const Line& line : lines) measures.push_back(to_json(line));
    models.push_back({{"model", path.string()}, {"measures", measures}});
  }
  if (!arguments.json) return;
  const nlohmann::ordered_json answer{{"threads", threads},
                                      {"isa", name_of(select_kernels().isa)},
                                      {"limits", to_json(limits)},
                                      {"models", models}};
  std::cout << answer.dump(2) << '\n';
}

}  // namespace
}  // namespace lathe::bench

int main(int argc, char** argv) {
  CLI::App app("Speed of compiled models as shares of what this machine can do.", "roofline");
  lathe::bench::Arguments arguments;
  const CLI::Range tokens(1, 1 << 20);
  app.add_option("MODEL", arguments.models, "Artifacts made by lathe compile")
      ->check(CLI::ExistingFile);
  app.add_option("-p", arguments.prompts, "Lengths of prompts")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(tokens);
  app.add_option("-d", arguments.depths, "Tokens in the cache before generation")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(0, 1 << 20));
  app.add_option("-n", arguments.generate, "Tokens to generate")->check(tokens);
  app.add_option("-r", arguments.repetitions, "Repetitions, after one that does not count")
      ->check(CLI::Range(1, 10000));
  app.add_option("--threads", arguments.threads, "Threads (default: one for each physical core)")
      ->check(CLI::Range(1, 1024));
  app.add_option("--read", arguments.read_for, "Only read memory, for this many seconds")
      ->check(CLI::Range(0.01, 3600.0));
  app.add_flag("--no-speeds", arguments.no_speeds, "Measure the machine alone, no model");
  app.add_flag("--json", arguments.json, "Print one JSON object");
  CLI11_PARSE(app, argc, argv);
  try {
    lathe::bench::run(arguments);
  } catch (const std::exception& error) {
    std::cerr << "roofline: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
