#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/options.h"
#include "lathe/language_model.h"
#include "support/error.h"

namespace lathe::cli {
namespace {

struct Arguments {
  std::filesystem::path model;
  OpenOptions open;
  std::string system;
  ChatOptions chat;
  SamplerOptions sampling;
  GenerateOptions generate;
};

void run(const Arguments& arguments) {
  const std::unique_ptr<LanguageModel> model = LanguageModel::open(arguments.model, arguments.open);
  const bool terminal = ::isatty(STDIN_FILENO) == 1;
  if (terminal)
    fmt::print(stderr, "An empty line or Ctrl-D ends; /new begins a new conversation.\n");
  std::vector<ChatMessage> messages;
  const auto begin = [&] {
    messages.clear();
    if (!arguments.system.empty()) messages.push_back({"system", arguments.system});
  };
  begin();
  std::string line;
  while (true) {
    if (terminal) fmt::print(stderr, "> ");
    if (!std::getline(std::cin, line) || line.empty()) return;
    if (line == "/new") {
      begin();
      continue;
    }
    messages.push_back({"user", line});
    try {
      const GenerateResult answer = model->generate(
          model->encode_chat(messages, arguments.chat), arguments.sampling, arguments.generate,
          [](std::string_view text) { std::cout << text << std::flush; });
      std::cout << '\n' << std::flush;
      messages.push_back({"assistant", answer.text});
    } catch (const Error& error) {
      // Of somebody at the keyboard, a line that cannot be answered ends neither the program nor
      // the conversation. A script must see the failure.
      if (!terminal) throw;
      messages.pop_back();
      fmt::print(stderr, "lathe: {}\n", error.what());
    }
  }
}

}  // namespace

void add_chat(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      add_command(app, "chat", "Talk with a compiled model", "lathe chat smol.lathe");
  add_artifact(*command, arguments->model);
  add_text(*command, "--system", arguments->system, "System message");
  add_chat_options(*command, arguments->chat);
  add_token_limit(*command, arguments->generate.max_new_tokens, "At most this many tokens a turn");
  add_sampling(*command, arguments->sampling);
  add_open_options(*command, arguments->open);
  command->callback([arguments] { run(*arguments); });
}

}  // namespace lathe::cli
