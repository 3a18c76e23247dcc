#include "cli/program.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

extern char** environ;

namespace lathe::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> list;
  for (std::string& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  return list;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// A child inherits the limit that its parent has when it starts.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(std::optional<size_t> bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    if (!bytes) return;
    rlimit limit = before_;
    limit.rlim_cur = *bytes;
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
};

void expect_line(const Outcome& outcome, int exit_code, const std::vector<std::string>& words,
                 const std::vector<std::string>& allowed_before) {
  EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
  EXPECT_EQ(outcome.signal, 0);
  EXPECT_EQ(outcome.out, "");
  std::vector<std::string> lines = lines_of(outcome.err);
  ASSERT_FALSE(lines.empty());
  EXPECT_THAT(lines.back(), StartsWith("lathe: "));
  for (const std::string& word : words) EXPECT_THAT(lines.back(), HasSubstr(word));
  lines.pop_back();
  for (const std::string& line : lines) {
    EXPECT_TRUE(std::any_of(allowed_before.begin(), allowed_before.end(),
                            [&](const std::string& start) { return line.starts_with(start); }))
        << line;
  }
}

}  // namespace

Program::Program(const std::vector<std::string>& arguments, const Surroundings& around) {
  std::vector<std::string> words{LATHE_BINARY};
  words.insert(words.end(), arguments.begin(), arguments.end());
  // Of two entries of one name, the first counts.
  std::vector<std::string> environment = around.environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);

  const std::string input = folder_.write("in", around.input).string();
  const std::string output =
      around.output.empty() ? (folder_ / "out").string() : around.output.string();
  const std::string errors = (folder_ / "err").string();
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, input.c_str(), O_RDONLY, 0);
  constexpr int kWrite = O_WRONLY | O_CREAT | O_TRUNC;
  ::posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, output.c_str(), kWrite, 0644);
  ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, errors.c_str(), kWrite, 0644);
  const FileSizeLimit limit(around.file_size_limit);
  // A parent that ignores SIGPIPE must not decide what these tests see.
  sigset_t defaults;
  ::sigemptyset(&defaults);
  ::sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setsigdefault(&attributes, &defaults);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  const int failed = ::posix_spawn(&pid_, LATHE_BINARY, &files, &attributes, pointers(words).data(),
                                   pointers(environment).data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  if (failed != 0) throw std::runtime_error("cannot start " LATHE_BINARY);
}

Program::~Program() {
  kill();
  reap(0);
}

void Program::reap(int options) {
  int status = 0;
  if (!status_ && ::waitpid(pid_, &status, options) == pid_) status_ = status;
}

bool Program::running() {
  reap(WNOHANG);
  return !status_;
}

void Program::kill() {
  if (running()) ::kill(pid_, SIGKILL);
}

Outcome Program::wait() {
  reap(0);
  Outcome outcome;
  if (WIFEXITED(*status_)) outcome.exit_code = WEXITSTATUS(*status_);
  if (WIFSIGNALED(*status_)) outcome.signal = WTERMSIG(*status_);
  outcome.out = read_bytes(folder_ / "out");
  outcome.err = err();
  return outcome;
}

Outcome lathe(const std::vector<std::string>& arguments, const Surroundings& around) {
  return Program(arguments, around).wait();
}

std::string lathe_output(const std::vector<std::string>& arguments) {
  const Outcome outcome = lathe(arguments);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.signal, 0);
  return outcome.out;
}

void expect_refused(const Outcome& outcome, const std::vector<std::string>& words) {
  expect_line(outcome, 1, words,
              {"building graphs", "calibrating", "quantizing", "writing", "reading the model",
               "preparing graphs", "compiling context"});
}

void expect_wrong_usage(const Outcome& outcome, const std::vector<std::string>& words) {
  expect_line(outcome, 2, words, {});
}

}  // namespace lathe::testing
