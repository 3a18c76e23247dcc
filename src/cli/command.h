#pragma once

#include <CLI/CLI.hpp>
#include <string>

// One file for each subcommand: it declares options, calls the library, and prints. What they share
// is in options.h, inputs.h and output.h. A command whose answer, printed, is no ends with
// CLI::RuntimeError(1).
namespace lathe::cli {

void add_compile(CLI::App& app);
void add_run(CLI::App& app);
void add_chat(CLI::App& app);
void add_logits(CLI::App& app);
void add_eval(CLI::App& app);
void add_export(CLI::App& app);
void add_bench(CLI::App& app);
void add_inspect(CLI::App& app);
void add_tokenize(CLI::App& app);
void add_template(CLI::App& app);

/// Adds a subcommand whose help ends with an example.
inline CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& description,
                             const std::string& example) {
  CLI::App* command = app.add_subcommand(name, description);
  command->footer("Example:\n  " + example);
  return command;
}

}  // namespace lathe::cli
