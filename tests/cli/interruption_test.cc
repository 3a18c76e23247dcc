#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "cli/checkpoint_folder.h"
#include "cli/program.h"
#include "cli/small_model.h"

// A full disk, a killed compile, a reader that has gone: what is left behind.

namespace lathe {
namespace {

using testing::compile_arguments;
using testing::contents;
using testing::expect_refused;
using testing::lathe;
using testing::lathe_output;
using testing::Outcome;
using testing::Program;
using testing::read_bytes;
using testing::small_model;
using testing::small_source;
using testing::Surroundings;
using testing::TestFolder;

const std::string kPrevious = "an artifact of last week";
const std::map<std::string, std::string> kOnlyPrevious{{"model.lathe", kPrevious}};

TEST(Interruption, AFullDiskLeavesThePreviousArtifact) {
  const TestFolder folder;
  const std::string output = folder.write("model.lathe", kPrevious).string();
  const size_t whole = std::filesystem::file_size(small_model());
  for (const size_t room : {size_t{4096}, whole / 2, whole - 1}) {
    SCOPED_TRACE(room);
    Surroundings around;
    around.file_size_limit = room;
    expect_refused(lathe(compile_arguments(small_source(), output), around),
                   {output, "cannot write"});
    EXPECT_EQ(contents(folder.path()), kOnlyPrevious);
  }
}

TEST(Interruption, AFullDiskIsNamedAsSuch) {
  expect_refused(lathe(compile_arguments(small_source(), "/dev/full")),
                 {"/dev/full", "No space left", "free some space"});
}

TEST(Interruption, NoRoomForTheEmbeddedCheckpoint) {
  const TestFolder folder;
  Surroundings around;
  around.file_size_limit = 4096;
  around.environment = {"TMPDIR=" + folder.path().string()};
  expect_refused(lathe({"tokenize", "tiny", "--text", "a"}, around), {"cannot write"});
  EXPECT_TRUE(contents(folder.path()).empty());
}

TEST(Interruption, AFullDiskUnderStdoutIsAFailure) {
  Surroundings around;
  around.output = "/dev/full";
  expect_refused(lathe({"inspect", small_model()}, around), {"cannot write", "standard output"});
  const Outcome run = lathe({"run", small_model(), "--prompt", "a", "-n", "2"}, around);
  EXPECT_EQ(run.exit_code, 1);
}

TEST(Interruption, LogitsThatDoNotFitLeaveThePreviousFile) {
  const TestFolder folder;
  const std::string output = folder.write("model.lathe", kPrevious).string();
  Surroundings around;
  around.file_size_limit = 1000;
  expect_refused(lathe({"logits", small_model(), "--ids", "1,2,3", "-o", output}, around),
                 {output, "cannot write"});
  EXPECT_EQ(contents(folder.path()), kOnlyPrevious);
}

TEST(Interruption, AKilledCompileLeavesThePreviousArtifactAndTheNextOneWorks) {
  const TestFolder folder;
  const std::string output = folder.write("model.lathe", kPrevious).string();
  const std::vector<std::string> arguments = compile_arguments(small_source(), output);
  {
    // So many tokens to calibrate on that it does not end before the signal comes.
    std::vector<std::string> long_work = arguments;
    long_work.back() = "1000000";
    Program program(long_work);
    while (program.running() && program.err().find("calibrating") == std::string::npos) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    program.kill();
    EXPECT_EQ(program.wait().signal, SIGKILL);
  }
  EXPECT_EQ(read_bytes(output), kPrevious);
  lathe_output(arguments);
  EXPECT_TRUE(read_bytes(output) == read_bytes(small_model()));
}

// `lathe run ... | head`: the reader takes what it wants and goes.
TEST(Interruption, AReaderThatGoesEndsTheProgramQuietly) {
  const TestFolder folder;
  const std::string pipe = (folder / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  Surroundings around;
  around.output = pipe;
  const std::string model = small_model();
  Program program({"run", model, "--prompt", "a"}, around);
  ::close(reader);
  const Outcome outcome = program.wait();
  EXPECT_EQ(outcome.signal, SIGPIPE) << outcome.err;
  EXPECT_EQ(outcome.err, "");
}

}  // namespace
}  // namespace lathe
