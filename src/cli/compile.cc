#include "lathe/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "graph/text.h"

namespace lathe::cli {
namespace {

struct Arguments {
  std::filesystem::path source;
  std::filesystem::path output;
  CompileOptions options;
  std::vector<std::string> print_after;
  std::string print_module;
  bool explain = false;
  bool report = false;
  bool json = false;
};

void run(Arguments& arguments) {
  CompileOptions& options = arguments.options;
  options.progress = progress;
  if (!arguments.print_after.empty()) {
    options.after_pass = [&](std::string_view pass, const Graph& graph) {
      const std::vector<std::string>& wanted = arguments.print_after;
      if (std::find(wanted.begin(), wanted.end(), pass) == wanted.end()) return;
      std::cout << "# after " << pass << '\n'
                << (arguments.print_module.empty() ? print_graph(graph)
                                                   : print_nodes(graph, arguments.print_module));
    };
  }
  if (arguments.explain) options.explain = [](std::string_view table) { std::cout << table; };
  if (arguments.report) options.report = [](std::string_view text) { std::cout << text; };
  const CompileReport report = compile(arguments.source, arguments.output, options);
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
  command->add_option("--recipe", options.recipe, "Built-in recipe, .json file, or auto")
      ->capture_default_str();
  command
      ->add_option("--quant", options.quant,
                   "Bits of activations (a) and weights (w); auto: as the recipe says")
      ->check(CLI::IsMember({"auto", "8a8w", "8a4w", "16a8w", "16a4w", "16a4w_block", "16a16w"}))
      ->capture_default_str();
  command->add_option("--block", options.block, "Weights of 4 bits that share a scale factor")
      ->check(CLI::IsMember({16, 32, 64}));
  command->add_option("--kv-bits", options.kv_bits, "Bits of the caches")
      ->check(CLI::IsMember({8, 16}));
  command
      ->add_option("--seq-mse", options.seq_mse,
                   "Steps of the search for weight scales (0: the largest magnitude)")
      ->check(between(0, 1000));
  command->add_flag("--r3", options.r3, "Rotate queries and keys after RoPE");
  command
      ->add_option("--variant", options.variant,
                   "hf: turned; static: built by hand; hf_mainline: as it was traced")
      ->check(CLI::IsMember({"hf", "hf_mainline", "static"}))
      ->capture_default_str();
  command->add_option("--target", options.target, "htp: attention split by head")
      ->check(CLI::IsMember({"cpu", "htp"}))
      ->capture_default_str();
  command->add_option("--disable-pass", options.disabled_passes, "Leave out this pass (repeatable)")
      ->type_name("NAME");
  CLI::Option* print_after =
      command
          ->add_option("--print-after", arguments->print_after,
                       "Print the decode graph behind this pass (repeatable)")
          ->type_name("NAME");
  command
      ->add_option("--print-module", arguments->print_module,
                   "Print the nodes of this module only: model.layers.0.self_attn")
      ->type_name("NAME")
      ->needs(print_after);
  CLI::Option* explain = command->add_flag("--explain", arguments->explain,
                                           "Print what the recipe makes of each weight");
  CLI::Option* report = command->add_flag(
      "--report", arguments->report,
      "Print which products quantization hurts most, and rules that give them 8 bits");
  command
      ->add_option("--context", options.context,
                   "Tokens of prompt and output together (default: 1024, or the model's limit)")
      ->check(between(2));
  command
      ->add_option("--prefill", options.prefill,
                   "Tokens per call while reading the prompt (default: 64)")
      ->check(between(1, 4096));
  add_file(*command, "--calibration", options.calibration,
           "Text (.txt) or chats (.jsonl) to observe ranges on (default: built in)");
  command
      ->add_option("--calibration-tokens", options.calibration_tokens,
                   "At most this many tokens of it")
      ->check(between(1))
      ->capture_default_str();
  add_threads(*command, options.threads);
  add_json(*command, arguments->json)->excludes(print_after)->excludes(explain)->excludes(report);
  command->callback([arguments] { run(*arguments); });
}

}  // namespace lathe::cli
