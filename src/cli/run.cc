#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string_view>
#include <utility>

#include "api/process.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "lathe/language_model.h"

namespace lathe::cli {
namespace {

struct Arguments {
  std::filesystem::path model;
  OpenOptions open;
  std::string prompt;
  std::string chat;
  std::string system;
  bool is_chat = false;
  ChatOptions chat_options;
  SamplerOptions sampling;
  GenerateOptions generate;
  bool json = false;
};

std::vector<int64_t> encode(const Arguments& arguments, const LanguageModel& model) {
  if (!arguments.is_chat) return model.encode(arguments.prompt);
  std::vector<ChatMessage> messages;
  if (!arguments.system.empty()) messages.push_back({"system", arguments.system});
  messages.push_back({"user", arguments.chat});
  return model.encode_chat(messages, arguments.chat_options);
}

void run(const Arguments& arguments) {
  const auto start = std::chrono::steady_clock::now();
  const std::unique_ptr<LanguageModel> model = LanguageModel::open(arguments.model, arguments.open);
  const std::chrono::duration<double, std::milli> load = std::chrono::steady_clock::now() - start;

  const std::vector<int64_t> prompt = encode(arguments, *model);
  // The prompt is repeated once it is known to be accepted.
  std::string_view before = arguments.is_chat ? std::string_view() : arguments.prompt;
  const auto write = [&](std::string_view text) {
    std::cout << std::exchange(before, {}) << text << std::flush;
  };
  const GenerateResult result =
      model->generate(prompt, arguments.sampling, arguments.generate,
                      arguments.json ? std::function<void(std::string_view)>() : write);
  const GenerateStats& stats = result.stats;
  if (arguments.json) {
    print_json({{"text", result.text},
                {"ids", result.ids},
                {"finish_reason", name_of(result.finish_reason)},
                {"stats",
                 {{"load_ms", load.count()},
                  {"prompt_tokens", stats.prompt_tokens},
                  {"prompt_tokens_per_s", stats.prompt_tokens_per_second()},
                  {"generated_tokens", stats.generated_tokens},
                  {"tokens_per_s", stats.tokens_per_second()},
                  {"ttft_ms", stats.time_to_first_token * 1e3},
                  {"peak_rss_bytes", peak_rss_bytes()}}}});
    return;
  }
  write("\n");
  fmt::print(stderr,
             "\nloaded in {:.1f} ms, prompt {} tokens at {:.0f} tokens/s, first token after {:.1f} "
             "ms,\n{} tokens generated at {:.0f} tokens/s ({}), peak memory {:.0f} MB\n",
             load.count(), stats.prompt_tokens, stats.prompt_tokens_per_second(),
             stats.time_to_first_token * 1e3, stats.generated_tokens, stats.tokens_per_second(),
             name_of(result.finish_reason), static_cast<double>(peak_rss_bytes()) / 1e6);
}

}  // namespace

void add_run(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = add_command(app, "run", "Let a compiled model write",
                                  "lathe run smol.lathe --chat \"What is the capital of France?\"");
  add_artifact(*command, arguments->model);
  CLI::App* input = command->add_option_group("Input");
  CLI::Option* prompt =
      add_text(*input, "--prompt", arguments->prompt, "Text to go on from, as it is");
  CLI::Option* chat =
      add_text(*input, "--chat", arguments->chat, "A question, put into the chat template");
  input->require_option(1);
  add_text(*command, "--system", arguments->system, "System message for --chat")->needs(chat);
  add_chat_options(*command, arguments->chat_options, chat);
  add_token_limit(*command, arguments->generate.max_new_tokens,
                  "At most this many tokens (default: as far as the context reaches)");
  command->add_option("--stop", arguments->generate.stop, "Stop before this text (repeatable)")
      ->allow_extra_args(false);
  add_sampling(*command, arguments->sampling);
  add_open_options(*command, arguments->open);
  add_json(*command, arguments->json);
  command->callback([arguments, prompt] {
    arguments->is_chat = prompt->count() == 0;
    run(*arguments);
  });
}

}  // namespace lathe::cli
