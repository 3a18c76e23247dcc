#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iostream>
#include <memory>
#include <vector>

#include "cli/command.h"
#include "cli/inputs.h"
#include "cli/options.h"
#include "cli/output.h"
#include "support/error.h"

namespace lathe::cli {
namespace {

struct Arguments {
  std::filesystem::path model;
  std::string text;
  std::filesystem::path texts;
  std::vector<int64_t> decode;
  std::filesystem::path decodes;
  bool special = false;
  bool skip_special = false;
  bool json = false;
};

enum class Task : uint8_t { text, texts, decode, decodes };

/// Calls body on each item of the array in a user's JSON file and prints what it gives as an array.
template <typename Item, typename Body>
void map_file(const std::filesystem::path& path, const char* items, const Body& body) {
  const nlohmann::ordered_json inputs = read_json(path);
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  try {
    for (const Item& item : inputs.get<std::vector<Item>>()) results.push_back(body(item));
  } catch (const nlohmann::json::exception&) {
    fail({.what = "not what is expected here",
          .where = path.string(),
          .expected = std::string("an array of ") + items});
  }
  print_json(results);
}

void run(const Arguments& arguments, Task task) {
  const TextModel text = open_text(arguments.model);
  const Tokenizer& tokenizer = *text.tokenizer();
  const auto encode = [&](const std::string& input) {
    return tokenizer.encode(input, arguments.special);
  };
  const auto decode = [&](const std::vector<int64_t>& ids) {
    return tokenizer.decode(ids, arguments.skip_special);
  };
  switch (task) {
    case Task::text: {
      const std::vector<int64_t> ids = encode(arguments.text);
      if (arguments.json) {
        print_json({{"ids", ids}});
      } else {
        std::cout << fmt::format("{}\n", fmt::join(ids, ","));
      }
      return;
    }
    case Task::texts:
      return map_file<std::string>(arguments.texts, "strings", encode);
    case Task::decode: {
      const std::string output = decode(arguments.decode);
      if (arguments.json) {
        print_json({{"text", output}});
      } else {
        std::cout << output << '\n';
      }
      return;
    }
    case Task::decodes:
      return map_file<std::vector<int64_t>>(arguments.decodes, "arrays of ids", decode);
  }
}

}  // namespace

void add_tokenize(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = add_command(app, "tokenize", "Text to token ids and back",
                                  "lathe tokenize smol.lathe --text \"Hello world\"");
  add_artifact_or_source(*command, arguments->model,
                         "Artifact, checkpoint, .gguf, or a bare tokenizer.json or .model");
  CLI::App* input = command->add_option_group("Input");
  CLI::Option* text = add_text(*input, "--text", arguments->text, "Text to encode");
  CLI::Option* texts = add_file(*input, "--texts", arguments->texts, "JSON: array of texts");
  CLI::Option* decode = add_ids(*input, "--decode", arguments->decode, "Ids to decode: 1,2,3");
  add_file(*input, "--decodes", arguments->decodes, "JSON: array of arrays of ids");
  input->require_option(1);
  command->add_flag("--special", arguments->special,
                    "Add the special tokens that the tokenizer adds by itself");
  command->add_flag("--skip-special", arguments->skip_special, "Leave special tokens out of text");
  add_json(*command, arguments->json);
  command->callback([=] {
    const Task task = text->count() > 0     ? Task::text
                      : texts->count() > 0  ? Task::texts
                      : decode->count() > 0 ? Task::decode
                                            : Task::decodes;
    run(*arguments, task);
  });
}

}  // namespace lathe::cli
