#include <iostream>
#include <memory>

#include "cli/command.h"
#include "cli/inputs.h"
#include "cli/options.h"
#include "cli/output.h"
#include "support/error.h"
#include "text/chat_template.h"

namespace lathe::cli {
namespace {

struct Arguments {
  std::filesystem::path file;
  std::filesystem::path context;
  std::filesystem::path cases;
  std::string now;
};

ClockTime clock(const Arguments& arguments) {
  if (arguments.now.empty()) return std::nullopt;
  return arguments.now;
}

void render_cases(const Arguments& arguments) {
  const nlohmann::ordered_json cases = read_json(arguments.cases);
  if (!cases.is_array()) {
    fail({.what = "not what is expected here",
          .where = arguments.cases.string(),
          .expected = "an array of {template, context}"});
  }
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  for (const nlohmann::ordered_json& item : cases) {
    if (!item.is_object() || !item.contains("template") || !item["template"].is_string() ||
        !item.contains("context")) {
      fail({.what = "a case is not {template, context}", .where = arguments.cases.string()});
    }
    try {
      const auto parsed = ChatTemplate::parse(item["template"].get<std::string>());
      results.push_back({{"rendered", parsed.render(item["context"], clock(arguments))}});
    } catch (const Error& error) {
      results.push_back({{"error", error.what()}});
    }
  }
  print_json(results);
}

void run(const Arguments& arguments) {
  if (!arguments.cases.empty()) return render_cases(arguments);
  if (arguments.file.empty() || arguments.context.empty()) {
    throw CLI::ValidationError("template", "needs TEMPLATE and --context, or --cases");
  }
  const std::string source = read_text(arguments.file);
  const nlohmann::ordered_json context = read_json(arguments.context);
  try {
    std::cout << ChatTemplate::parse(source).render(context, clock(arguments));
  } catch (const Error& error) {
    fail({.what = error.what(), .where = arguments.file.string()});
  }
}

}  // namespace

void add_template(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = add_command(app, "template", "Render a chat template",
                                  "lathe template chat_template.jinja --context messages.json");
  add_file(*command, "TEMPLATE", arguments->file, "Chat template (.jinja)");
  add_file(*command, "--context", arguments->context, "JSON: the template's variables");
  add_file(*command, "--cases", arguments->cases,
           "JSON: array of {template, context} to render one after the other");
  command->add_option("--now", arguments->now, "Local time for strftime_now: 2024-07-04T09:05:07");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace lathe::cli
