#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "support/test_files.h"

namespace lathe::testing {

/// What surrounds a run of the program.
struct Surroundings {
  std::string input = {};                     ///< its standard input
  std::vector<std::string> environment = {};  ///< NAME=value, besides or in place of the test's
  std::optional<size_t> file_size_limit = std::nullopt;  ///< bytes: writing more fails
  std::filesystem::path output = {};                     ///< where stdout goes instead of `out`
};

struct Outcome {
  int exit_code = -1;  ///< -1: ended by a signal
  int signal = 0;
  std::string out;
  std::string err;
};

/// The real binary, started with an argument vector: no shell is between.
class Program {
 public:
  explicit Program(const std::vector<std::string>& arguments, const Surroundings& around = {});
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// What it has written to stderr so far.
  std::string err() const { return read_bytes(folder_ / "err"); }
  bool running();
  void kill();
  Outcome wait();

 private:
  void reap(int options);

  TestFolder folder_;
  pid_t pid_ = -1;
  std::optional<int> status_;
};

/// Runs `lathe ARGUMENTS` to its end.
Outcome lathe(const std::vector<std::string>& arguments, const Surroundings& around = {});

/// The same, expecting success, and gives what was written to stdout.
std::string lathe_output(const std::vector<std::string>& arguments);

/// Expects exit code 1, nothing on stdout, and one line on stderr that begins with "lathe: " and
/// has each of `words`. Lines about progress may come before it.
void expect_refused(const Outcome& outcome, const std::vector<std::string>& words);
/// The same for exit code 2, with nothing before the line.
void expect_wrong_usage(const Outcome& outcome, const std::vector<std::string>& words);

}  // namespace lathe::testing
