#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <vector>

#include "artifact/read.h"
#include "cli/bench_counts.h"
#include "cli/bench_variants.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/variants_table.h"
#include "eval/speed.h"
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
  std::optional<int64_t> depth;
  int repetitions = 5;
  std::filesystem::path source;  ///< --variants
  std::optional<int64_t> context;
  std::filesystem::path text;
  std::filesystem::path report;
  bool counts = false;
  bool json = false;
};

struct Measurement {
  Spread prefill;
  Spread decode;
};

Measurement measure(const Arguments& arguments, LanguageModel& model) {
  Runner& runner = model.runner();
  const int64_t depth = arguments.depth.value_or(0);
  const int64_t longest = std::max(arguments.prompt, depth + arguments.generate);
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
      if (depth > 0) runner.prefill(all.first(static_cast<size_t>(depth)));
      const double speed = generation_speed(
          runner, all.subspan(static_cast<size_t>(depth), static_cast<size_t>(arguments.generate)));
      if (keep) decode.push_back(speed);
    }
  };
  once(false);
  for (int i = 0; i < arguments.repetitions; ++i) once(true);
  return {spread(std::move(prefill)), spread(std::move(decode))};
}

void bench_models(const Arguments& arguments) {
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  const int threads = thread_count(arguments.open.threads);
  const std::string_view executor = name_of(arguments.open.executor);
  const int64_t depth = arguments.depth.value_or(0);
  // A model that cannot be opened is found before the first has been measured for a while.
  for (const std::filesystem::path& path : arguments.models) read_model(path, WeightCheck::sizes);
  for (const std::filesystem::path& path : arguments.models) {
    const std::unique_ptr<LanguageModel> model = LanguageModel::open(path, arguments.open);
    const Measurement result = measure(arguments, *model);
    results.push_back({{"model", path.string()},
                       {"executor", executor},
                       {"threads", threads},
                       {"prompt", arguments.prompt},
                       {"depth", depth},
                       {"prefill_tokens_per_s", spread_json(result.prefill)},
                       {"decode_tokens_per_s", spread_json(result.decode)}});
    if (arguments.json) continue;
    std::cout << fmt::format(
        "{}: {} executor, {} threads\n"
        "  prompt of {}: {:.1f} tokens/s ({:.1f} to {:.1f})\n"
        "  {} generated at depth {}: {:.1f} tokens/s ({:.1f} to {:.1f})\n",
        path.string(), executor, threads, arguments.prompt, result.prefill.median,
        result.prefill.min, result.prefill.max, arguments.generate, depth, result.decode.median,
        result.decode.min, result.decode.max);
  }
  if (arguments.json) print_json({{"results", results}});
}

void count(const Arguments& arguments) {
  CountsArguments counts{arguments.source, {}, arguments.json};
  counts.options.compile.context = arguments.context;
  counts.options.compile.threads = arguments.open.threads;
  if (!arguments.open.soc.empty()) counts.options.soc = arguments.open.soc;
  bench_counts(counts);
}

void compare(const Arguments& arguments) {
  if (arguments.generate == 0) throw CLI::ValidationError("-n", "variants generate at least 1");
  VariantsArguments variants;
  variants.source = arguments.source;
  variants.text = arguments.text;
  variants.report = arguments.report;
  variants.json = arguments.json;
  variants.options.compile.context = arguments.context;
  variants.options.open = arguments.open;
  variants.options.depth = arguments.depth;
  variants.options.generate = arguments.generate;
  variants.options.rounds = arguments.repetitions;
  bench_variants(variants);
}

void run(const Arguments& arguments) {
  const bool htp = arguments.open.executor == ExecutorKind::htp;
  if (htp && !arguments.counts) {
    throw CLI::ValidationError(
        "--executor htp",
        "the speed of a simulator means nothing; with --variants SRC --counts it counts");
  }
  if (arguments.counts && !htp) {
    throw CLI::ValidationError(
        "--counts", "what Qualcomm's compiler makes is counted with --executor htp only");
  }
  if (arguments.counts) {
    count(arguments);
    return;
  }
  if (arguments.source.empty()) {
    if (arguments.models.empty()) {
      throw CLI::RequiredError("MODEL is required, or --variants SRC",
                               CLI::ExitCodes::RequiredError);
    }
    bench_models(arguments);
    return;
  }
  compare(arguments);
}

}  // namespace

void add_bench(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = add_command(app, "bench", "Measure prompt and generation speed",
                                  "lathe bench smol.lathe -p 128 -n 64 -d 512");
  CLI::Option* models =
      command->add_option("MODEL", arguments->models, "Artifacts made by lathe compile")
          ->type_name("FILE");
  CLI::Option* prompt =
      command->add_option("-p", arguments->prompt, "Tokens of the prompt (0: skip)")
          ->check(between(0, kMostTokens))
          ->capture_default_str();
  CLI::Option* generate =
      command->add_option("-n", arguments->generate, "Tokens to generate (0: skip)")
          ->check(between(0, kMostTokens))
          ->capture_default_str();
  CLI::Option* depth =
      command
          ->add_option("-d", arguments->depth,
                       "Tokens in the cache before generation (default: 0; variants: all that fit)")
          ->check(between(0, kMostTokens));
  CLI::Option* repetitions =
      command
          ->add_option("-r", arguments->repetitions, "Repetitions, after one that does not count")
          ->check(between(1, 10000))
          ->capture_default_str();
  CLI::Option* variants =
      add_file(*command, "--variants", arguments->source,
               "Checkpoint to compile as static, hf_mainline and hf and to compare in one table")
          ->type_name("SRC")
          ->excludes(models)
          ->excludes(prompt);
  command
      ->add_option("--context", arguments->context,
                   "Context of the variants (default: 1024, or the model's limit)")
      ->check(between(2))
      ->needs(variants);
  CLI::Option* text = add_file(*command, "--text", arguments->text,
                               "Text to evaluate variants on (default: built in)")
                          ->needs(variants);
  CLI::Option* report =
      add_file(*command, "--report", arguments->report, "HTML page of the comparison to write")
          ->needs(variants);
  add_open_options(*command, arguments->open);
  command->get_option("--soc")->description(
      "The chip that --counts compiles for (default: SM8750)");
  CLI::Option* counts =
      command
          ->add_flag("--counts", arguments->counts,
                     "Count what Qualcomm's compiler makes of the variants; with --executor htp")
          ->needs(variants);
  for (CLI::Option* measured : {generate, depth, repetitions, text, report}) {
    counts->excludes(measured);
  }
  add_json(*command, arguments->json);
  command->callback([arguments] { run(*arguments); });
}

}  // namespace lathe::cli
