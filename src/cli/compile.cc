#include "lathe/compile.h"

#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"

namespace lathe::cli {
namespace {

struct Arguments {
  std::filesystem::path source;
  std::filesystem::path output;
  CompileOptions options;
  bool json = false;
};

void run(Arguments& arguments) {
  arguments.options.progress = progress;
  const CompileReport report = compile(arguments.source, arguments.output, arguments.options);
  if (arguments.json) {
    print_json({{"seconds", report.seconds},
                {"peak_rss_bytes", report.peak_rss_bytes},
                {"artifact_bytes", report.artifact_bytes},
                {"bits_per_weight", report.bits_per_weight},
                {"recipe", report.recipe}});
    return;
  }
  std::cout << fmt::format(
      "{}: {:.1f} MB, {:.2f} bits per weight, recipe {}; {:.1f} s, {:.0f} MB peak memory\n",
      arguments.output.string(), static_cast<double>(report.artifact_bytes) / 1e6,
      report.bits_per_weight, report.recipe, report.seconds,
      static_cast<double>(report.peak_rss_bytes) / 1e6);
}

}  // namespace

void add_compile(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      add_command(app, "compile", "Turn a checkpoint into an integer artifact",
                  "lathe compile models/SmolLM2-135M-Instruct.Q4_1.gguf -o smol.lathe");
  CompileOptions& options = arguments->options;
  add_file(*command, "SRC", arguments->source,
           "Hugging Face folder, .gguf file, or the word tiny (the built-in checkpoint)")
      ->required();
  add_output(*command, arguments->output, "The artifact to write");
  command->add_option("--recipe", options.recipe, "Built-in recipe or .json file")
      ->capture_default_str();
  command
      ->add_option("--context", options.context,
                   "Tokens of prompt and output together (default: 1024, or the model's limit)")
      ->check(between(2));
  command
      ->add_option("--prefill", options.prefill,
                   "Tokens per call while reading the prompt (default: 32)")
      ->check(between(1, 4096));
  add_file(*command, "--calibration", options.calibration,
           "Text (.txt) or chats (.jsonl) to observe ranges on (default: built in)");
  command
      ->add_option("--calibration-tokens", options.calibration_tokens,
                   "At most this many tokens of it")
      ->check(between(1))
      ->capture_default_str();
  add_threads(*command, options.threads);
  add_json(*command, arguments->json);
  command->callback([arguments] { run(*arguments); });
}

}  // namespace lathe::cli
