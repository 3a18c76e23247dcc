#include <CLI/CLI.hpp>
#include <csignal>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "cli/command.h"
#include "support/error.h"

namespace {

constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;

void complain(const std::string& line) { std::cerr << "lathe: " << line << '\n'; }

/// One line for a command line that cannot be understood.
std::string explain(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> commands = app.get_subcommands();
  const std::vector<std::string> unknown = app.remaining(/*recurse=*/true);
  std::string line = error.what();
  // A misspelt word often leaves something else missing; the word is what the user looks for.
  if (!unknown.empty()) {
    line = (commands.empty() ? "no such command: " : "unexpected argument: ") + unknown.front();
  } else if (commands.empty()) {
    line = "a command is missing";
  }
  const std::string help =
      commands.empty() ? "lathe --help" : "lathe " + commands.front()->get_name() + " --help";
  return lathe::printable(line + "; see " + help, 400);
}

int run(int argc, char** argv) {
  CLI::App app(
      "Lathe turns a Hugging Face language model into static integer graphs and runs them.",
      "lathe");
  app.set_version_flag("--version", "lathe " LATHE_VERSION);
  app.footer(
      "Example:\n  lathe compile tiny -o tiny.lathe\n  lathe run tiny.lathe --prompt \"It is\"");
  app.require_subcommand(1);
  using namespace lathe::cli;
  for (const auto add : {add_compile, add_run, add_chat, add_logits, add_eval, add_bench,
                         add_export, add_inspect, add_tokenize, add_template}) {
    add(app);
  }
  int status = 0;
  try {
    app.parse(argc, argv);
  } catch (const CLI::RuntimeError& answer) {
    status = answer.get_exit_code();
  } catch (const CLI::Success& help_or_version) {
    app.exit(help_or_version);
  } catch (const CLI::ParseError& error) {
    complain(explain(app, error));
    return kWrongUsage;
  }
  std::cout.flush();
  if (!std::cout) lathe::fail({.what = "cannot write to the standard output"});
  return status;
}

}  // namespace

int main(int argc, char** argv) {
#if defined(__GLIBC__)
  // Opening a model allocates in tens of thousands of pieces: heaps grow in large steps.
  mallopt(M_TOP_PAD, 16 << 20);
#endif
  // A file that grows over its limit is then an error like a full disk, not the end of the process.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return run(argc, argv);
  } catch (const lathe::Error& error) {
    complain(error.what());
  } catch (const std::bad_alloc&) {
    complain("out of memory");
  } catch (const std::exception& error) {
    complain(lathe::printable(error.what()));
  }
  return kFailed;
}
