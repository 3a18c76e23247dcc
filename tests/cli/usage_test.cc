#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "cli/program.h"

// What the program says about itself, and how it answers a command line that it cannot understand.

namespace lathe {
namespace {

using testing::expect_wrong_usage;
using ::testing::HasSubstr;
using testing::lathe;
using testing::Outcome;

struct Command {
  std::string name;
  std::set<std::string> options;  ///< besides --help
};

const std::set<std::string> kSampling{"--temperature", "--top-k",          "--top-p",
                                      "--min-p",       "--repeat-penalty", "--seed"};
const std::set<std::string> kOpen{"--executor", "--mode", "--soc", "--threads"};

std::set<std::string> united(std::set<std::string> set, const std::set<std::string>& more,
                             const std::set<std::string>& most = {}) {
  set.insert(more.begin(), more.end());
  set.insert(most.begin(), most.end());
  return set;
}

std::vector<Command> commands() {
  return {
      {"compile",
       {"-o",
        "--output",
        "--recipe",
        "--quant",
        "--block",
        "--kv-bits",
        "--seq-mse",
        "--r3",
        "--variant",
        "--target",
        "--context",
        "--prefill",
        "--calibration",
        "--calibration-tokens",
        "--disable-pass",
        "--print-after",
        "--print-module",
        "--explain",
        "--report",
        "--threads",
        "--json"}},
      {"run", united({"--prompt", "--chat", "--system", "--template-arg", "--chat-template", "-n",
                      "--stop", "--json"},
                     kSampling, kOpen)},
      {"chat", united({"--system", "--template-arg", "--chat-template", "-n"}, kSampling, kOpen)},
      {"logits", united({"--ids", "-o", "--output"}, kOpen)},
      {"eval",
       united({"--text", "--against", "--context", "--stride", "--layers", "--tokens", "--json"},
              kOpen)},
      {"export",
       {"-o", "--output", "--format", "--soc", "--optimization", "--shards", "--embedding",
        "--no-simulator", "--graph-dump", "--json"}},
      {"bench", united({"-p", "-n", "-d", "-r", "--variants", "--context", "--text", "--report",
                        "--counts", "--json"},
                       kOpen)},
      {"inspect", {"--graph", "--plan", "--diff", "--json"}},
      {"tokenize",
       {"--text", "--texts", "--decode", "--decodes", "--special", "--skip-special", "--json"}},
      {"template", {"--context", "--cases", "--now"}},
  };
}

/// Every word of a text that looks like an option.
std::set<std::string> options_in(const std::string& text) {
  static const std::regex option("(?:^|[\\s,])(--?[a-z][a-z0-9-]*)");
  std::set<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), option), end; at != end; ++at) {
    found.insert((*at)[1]);
  }
  return found;
}

TEST(Help, NamesEveryCommand) {
  const Outcome outcome = lathe({"--help"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  for (const Command& command : commands()) {
    EXPECT_THAT(outcome.out, HasSubstr("\n  " + command.name + " "));
  }
}

TEST(Help, OfACommandHasAnExampleAndNamesExactlyItsOptions) {
  for (const Command& command : commands()) {
    SCOPED_TRACE(command.name);
    const Outcome outcome = lathe({command.name, "--help"});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.err, "");
    EXPECT_THAT(outcome.out, HasSubstr("Example:\n  lathe " + command.name + " "));
    EXPECT_EQ(options_in(outcome.out), united(command.options, {"-h", "--help"}));
  }
}

TEST(Version, IsOneLine) {
  const Outcome outcome = lathe({"--version"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, ::testing::MatchesRegex("lathe [0-9.]+\n"));
}

TEST(WrongUsage, OfTheProgram) {
  expect_wrong_usage(lathe({}), {"a command is missing", "lathe --help"});
  expect_wrong_usage(lathe({"complie", "tiny"}), {"no such command: complie", "lathe --help"});
  expect_wrong_usage(lathe({"--verbose"}), {"no such command", "--verbose"});
}

TEST(WrongUsage, NamesTheUnknownOptionRatherThanTheMissingOne) {
  expect_wrong_usage(lathe({"compile", "tiny", "--ouput", "x.lathe"}),
                     {"unexpected argument: --ouput", "lathe compile --help"});
  for (const Command& command : commands()) {
    expect_wrong_usage(lathe({command.name, "--no-such-option"}), {"--no-such-option"});
  }
}

TEST(WrongUsage, SomethingIsMissing) {
  expect_wrong_usage(lathe({"compile", "tiny"}), {"--output is required"});
  expect_wrong_usage(lathe({"compile", "-o", "x.lathe"}), {"SRC is required"});
  expect_wrong_usage(lathe({"compile", "tiny", "-o"}), {"--output"});
  expect_wrong_usage(lathe({"run", "--prompt", "It is"}), {"MODEL is required"});
  expect_wrong_usage(lathe({"run", "x.lathe"}), {"--prompt,--chat"});
  expect_wrong_usage(lathe({"eval", "x.lathe"}), {"--text is required"});
  expect_wrong_usage(lathe({"logits", "x.lathe", "-o", "x"}), {"--ids is required"});
  expect_wrong_usage(lathe({"bench"}), {"MODEL is required"});
  expect_wrong_usage(lathe({"inspect"}), {"MODEL is required"});
  expect_wrong_usage(lathe({"tokenize", "tiny"}), {"--text,--texts,--decode,--decodes"});
  expect_wrong_usage(lathe({"template"}), {"--context", "--cases"});
}

TEST(WrongUsage, OptionsThatExcludeOrNeedEachOther) {
  expect_wrong_usage(lathe({"run", "x.lathe", "--prompt", "a", "--chat", "b"}),
                     {"--prompt,--chat"});
  expect_wrong_usage(lathe({"run", "x.lathe", "--prompt", "a", "--system", "b"}),
                     {"--system", "--chat"});
  expect_wrong_usage(lathe({"tokenize", "tiny", "--text", "a", "--decode", "1"}), {"--text"});
  expect_wrong_usage(lathe({"run", "x.lathe", "--prompt", "a", "--prompt", "b"}), {"--prompt"});
}

TEST(WrongUsage, ValueThatIsNoneOfTheWords) {
  expect_wrong_usage(lathe({"run", "x.lathe", "--prompt", "a", "--mode", "fast"}),
                     {"--mode", "fast", "hybrid", "kv"});
  expect_wrong_usage(lathe({"run", "x.lathe", "--prompt", "a", "--executor", "gpu"}),
                     {"--executor", "gpu", "cpu", "reference"});
  expect_wrong_usage(lathe({"inspect", "x.lathe", "--graph", "all"}),
                     {"--graph", "all", "decode", "prefill"});
}

TEST(WrongUsage, NumberThatCannotBe) {
  const auto expect_number = [](std::vector<std::string> arguments,
                                const std::vector<std::string>& words) {
    SCOPED_TRACE(words[0] + " " + words[1]);
    arguments.insert(arguments.end(), {words[0], words[1]});
    expect_wrong_usage(lathe(arguments), words);
  };
  const std::vector<std::string> run{"run", "x.lathe", "--prompt", "a"};
  expect_number(run, {"-n", "0", "at least 1"});
  expect_number(run, {"-n", "-3", "at least 1"});
  expect_number(run, {"-n", "many", "at least 1"});
  expect_number(run, {"-n", "1.5"});
  expect_number(run, {"--threads", "0", "1 to 1024"});
  expect_number(run, {"--threads", "100000", "1 to 1024"});
  expect_number(run, {"--temperature", "-1", "at least 0"});
  expect_number(run, {"--temperature", "nan", "at least 0"});
  expect_number(run, {"--temperature", "hot", "at least 0"});
  expect_number(run, {"--top-k", "-1", "at least 0"});
  expect_number(run, {"--top-p", "1.5", "0 to 1"});
  expect_number(run, {"--top-p", "nan", "0 to 1"});
  expect_number(run, {"--min-p", "-0.1", "0 to 1"});
  expect_number(run, {"--repeat-penalty", "-1", "at least 0"});
  expect_number(run, {"--seed", "-1", "at least 0"});

  const std::vector<std::string> compile{"compile", "tiny", "-o", "x.lathe"};
  expect_number(compile, {"--context", "1", "at least 2"});
  expect_number(compile, {"--context", "99999999999999999999"});
  expect_number(compile, {"--prefill", "0", "1 to 4096"});
  expect_number(compile, {"--calibration-tokens", "0", "at least 1"});

  const std::vector<std::string> eval{"eval", "x.lathe", "--text", "x.txt"};
  expect_number(eval, {"--context", "1", "at least 2"});
  expect_number(eval, {"--stride", "0", "at least 1"});

  const std::vector<std::string> bench{"bench", "x.lathe"};
  expect_number(bench, {"-p", "-1", "0 to"});
  expect_number(bench, {"-n", "9223372036854775807", "0 to"});
  expect_number(bench, {"-r", "0", "1 to"});
}

TEST(WrongUsage, IdsThatAreNoNumbers) {
  for (const char* ids :
       {"", "one", "1,two", "1,,2", "1,2,", "1.5", "0x10", "[1,2]", "99999999999999999999"}) {
    SCOPED_TRACE(ids);
    expect_wrong_usage(lathe({"logits", "tiny", "--ids", ids, "-o", "x"}), {"--ids", ids});
    expect_wrong_usage(lathe({"tokenize", "tiny", "--decode", ids}), {"--decode", ids});
  }
}

TEST(WrongUsage, EmptyFileName) {
  expect_wrong_usage(lathe({"compile", "tiny", "-o", ""}), {"--output", "empty"});
  expect_wrong_usage(lathe({"compile", "", "-o", "x.lathe"}), {"SRC", "empty"});
  expect_wrong_usage(lathe({"run", "", "--prompt", "a"}), {"MODEL", "empty"});
}

TEST(WrongUsage, TinyIsACheckpointAndNoModel) {
  expect_wrong_usage(lathe({"run", "tiny", "--prompt", "a"}), {"lathe compile tiny -o tiny.lathe"});
  expect_wrong_usage(lathe({"inspect", "tiny"}), {"lathe compile tiny -o tiny.lathe"});
}

TEST(WrongUsage, IsOneLineWhateverTheUserTypes) {
  expect_wrong_usage(lathe({"run", "x.lathe", "two\nlines\x1b[31m\xff"}), {"two lines"});
}

}  // namespace
}  // namespace lathe
