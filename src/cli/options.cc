#include "cli/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

#include "cli/inputs.h"
#include "support/error.h"
#include "support/mapped_file.h"
#include "support/utf8.h"
#include "text/builtin_templates.h"

namespace lathe::cli {
namespace {

template <typename Enum>
void add_choice(CLI::App& command, const std::string& name, Enum& value,
                const std::string& description, std::vector<std::pair<std::string, Enum>> choices) {
  std::vector<std::string> words;
  for (const auto& [word, meaning] : choices) words.push_back(word);
  command
      .add_option_function<std::string>(
          name,
          [&value, choices = std::move(choices)](const std::string& word) {
            value = std::find_if(choices.begin(), choices.end(), [&](const auto& choice) {
                      return choice.first == word;
                    })->second;
          },
          description)
      ->check(CLI::IsMember(words));
}

std::vector<int64_t> parse_ids(const std::string& name, std::string_view text) {
  std::vector<int64_t> ids;
  std::string_view rest = text;
  while (true) {
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    int64_t id = 0;
    const char* end = rest.data() + rest.size();
    const auto [stop, error] = std::from_chars(rest.data(), end, id);
    if (error != std::errc() || (stop != end && *stop != ',')) {
      throw CLI::ValidationError(
          name, "expected token ids such as 1,2,3, found \"" + printable(text, 80) + '"');
    }
    ids.push_back(id);
    if (stop == end) return ids;
    rest.remove_prefix(static_cast<size_t>(stop - rest.data()) + 1);
  }
}

/// KEY=VALUE, where a value that is JSON is what it says, and any other is a text.
void read_template_argument(const std::string& argument, nlohmann::ordered_json& arguments) {
  constexpr const char* kName = "--template-arg";
  require_utf8(argument, kName);
  const size_t equals = argument.find('=');
  if (equals == 0 || equals == std::string::npos) {
    throw CLI::ValidationError(kName,
                               "expected KEY=VALUE, found \"" + printable(argument, 80) + '"');
  }
  const std::string text = argument.substr(equals + 1);
  const auto json = nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  arguments[argument.substr(0, equals)] = json.is_discarded() ? nlohmann::ordered_json(text) : json;
}

}  // namespace

CLI::Validator between(double low, double high) {
  const std::string range =
      std::isinf(high) ? fmt::format("at least {}", low) : fmt::format("{} to {}", low, high);
  return CLI::Validator(
      [=](const std::string& input) {
        double number = 0.0;
        const char* end = input.data() + input.size();
        const auto [stop, error] = std::from_chars(input.data(), end, number);
        // What passes must also fit 64 bits, which the parser of integers does not check.
        const bool fits = number >= low && number <= std::min(high, 0x1p63);
        if (error == std::errc() && stop == end && fits) {
          return std::string();
        }
        return fmt::format("expected {}, found {}", range, printable(input, 40));
      },
      range);
}

void add_artifact(CLI::App& command, std::filesystem::path& path) {
  add_file(command, "MODEL", path, "Artifact made by lathe compile, or folder made by lathe export")
      ->required()
      ->check(CLI::Validator(
          [](const std::string& value) {
            if (value != kEmbeddedSource || file_exists(value)) return std::string();
            return fmt::format(
                "{0} is a checkpoint; compile it first: lathe compile {0} -o {0}.lathe",
                kEmbeddedSource);
          },
          ""));
}

void add_artifact_or_source(CLI::App& command, std::filesystem::path& path,
                            const std::string& description) {
  add_file(command, "MODEL", path, description)->required();
}

void add_output(CLI::App& command, std::filesystem::path& path, const std::string& description) {
  add_file(command, "-o,--output", path, description)->required();
}

CLI::Option* add_file(CLI::App& command, const std::string& name, std::filesystem::path& path,
                      const std::string& description) {
  return command.add_option(name, path, description)
      ->type_name("FILE")
      ->check(CLI::Validator(
          [](const std::string& value) {
            return value.empty() ? std::string("the name of the file is empty") : std::string();
          },
          ""));
}

CLI::Option* add_text(CLI::App& command, const std::string& name, std::string& text,
                      const std::string& description) {
  return command.add_option(name, text, description)
      ->check(CLI::Validator(
          [name](const std::string& value) {
            require_utf8(value, name);
            return std::string();
          },
          ""));
}

void add_chat_options(CLI::App& command, ChatOptions& options, CLI::Option* chat) {
  const auto read_all = [&options](const std::vector<std::string>& arguments) {
    for (const std::string& argument : arguments) {
      read_template_argument(argument, options.arguments);
    }
  };
  CLI::Option* argument =
      command
          .add_option_function<std::vector<std::string>>(
              "--template-arg", read_all,
              "A variable of the chat template: enable_thinking=false (repeatable)")
          ->type_name("KEY=VALUE")
          ->allow_extra_args(false);
  const auto choose = [&options](const std::string& name) {
    if (std::filesystem::path(name).extension() == ".jinja") {
      options.template_source = read_text(name);
      options.template_where = name;
    } else {
      require_utf8(name, "--chat-template");
      options.template_name = name;
    }
  };
  CLI::Option* name = command
                          .add_option_function<std::string>(
                              "--chat-template", choose,
                              "One of the model's chat templates, a .jinja file in their place, or "
                              "for a model without: " +
                                  builtin_template_names())
                          ->type_name("NAME|FILE");
  if (chat == nullptr) return;
  argument->needs(chat);
  name->needs(chat);
}

CLI::Option* add_ids(CLI::App& command, const std::string& name, std::vector<int64_t>& ids,
                     const std::string& description) {
  return command
      .add_option_function<std::string>(
          name, [&ids, name](const std::string& text) { ids = parse_ids(name, text); }, description)
      ->type_name("IDS");
}

void add_threads(CLI::App& command, int& threads) {
  command.add_option("--threads", threads, "Threads (default: one for each physical core)")
      ->check(between(1, 1024));
}

void add_open_options(CLI::App& command, OpenOptions& options) {
  add_choice(
      command, "--executor", options.executor,
      "cpu (default): fast; reference: scalar and exact; ort: ONNX Runtime; htp: a Snapdragon's "
      "tensor processor, or its simulator",
      {{"cpu", ExecutorKind::cpu},
       {"reference", ExecutorKind::reference},
       {"ort", ExecutorKind::ort},
       {"htp", ExecutorKind::htp}});
  command.add_option("--soc", options.soc,
                     "The chip that there is, for an export to be checked with");
  add_choice(command, "--mode", options.mode,
             "hybrid (default): the prompt in chunks; kv: token by token",
             {{"hybrid", RunMode::hybrid}, {"kv", RunMode::kv}});
  add_threads(command, options.threads);
}

void add_token_limit(CLI::App& command, int64_t& tokens, const std::string& description) {
  command.add_option("-n", tokens, description)->check(between(1));
}

void add_sampling(CLI::App& command, SamplerOptions& options) {
  command.add_option("--temperature", options.temperature, "0 (default): the most probable token")
      ->check(between(0));
  command.add_option("--top-k", options.top_k, "Keep the k most probable tokens (0: off)")
      ->check(between(0));
  command
      .add_option("--top-p", options.top_p,
                  "Keep the fewest tokens that reach this probability (1: off)")
      ->check(between(0, 1));
  command
      .add_option("--min-p", options.min_p,
                  "Keep tokens with this share of the highest probability (0: off)")
      ->check(between(0, 1));
  command
      .add_option("--repeat-penalty", options.repeat_penalty,
                  "Make tokens that were there before less probable (1: off)")
      ->check(between(0));
  command.add_option("--seed", options.seed, "Seed of the random choice")->check(between(0));
}

CLI::Option* add_json(CLI::App& command, bool& json) {
  return command.add_flag("--json", json, "Print one JSON object");
}

}  // namespace lathe::cli
