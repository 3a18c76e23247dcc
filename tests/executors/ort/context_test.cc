#include "executors/ort/context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "executors/ort/context_wrapper.h"
#include "executors/ort/library.h"
#include "executors/ort/ort_test.h"
#include "executors/ort/qnn_dump.h"
#include "executors/ort/session.h"
#include "support/expect_error.h"
#include "support/mapped_file.h"
#include "support/test_files.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;
using testing::columns_contract;
using ::testing::ElementsAre;
using testing::expect_error;
using testing::ort_model;
using testing::TestFolder;
using ::testing::UnorderedElementsAre;

using CompileContext = testing::OrtTest;

const HtpOptions kSM8750 = {.chip = find_chip("SM8750"), .optimization = 3};
const std::vector<std::string> kBoth = {"prefill", "decode"};
const std::vector<std::string> kDecode = {"decode"};

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  return names;
}

/// Codes y of a session whose input counts up.
std::vector<uint16_t> y_of(const fs::path& file, int64_t columns) {
  const auto session =
      make_ort_session(file, columns_contract(columns), {.threads = 0, .htp = kSM8750});
  std::vector<uint16_t> x(static_cast<size_t>(8 * columns));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<uint16_t>(30000 + 777 * i % 5000);
  std::vector<uint16_t> y(x.size());
  session->bind("x", dense_view(DType::u16, {1, 8, 1, columns}, x.data()));
  session->bind("y", dense_view(DType::u16, {1, 8, 1, columns}, y.data()));
  session->run();
  return y;
}

TEST_F(CompileContext, GivesOneBinaryOfAllGraphs) {
  const TestFolder folder;
  compile_context(ort_model(""), kBoth, folder.path(), "context.bin", {.htp = kSM8750});
  EXPECT_THAT(names_in(folder.path()),
              UnorderedElementsAre("prefill.onnx", "decode.onnx", "context.bin"));
  EXPECT_EQ(graphs_behind(folder / "prefill.onnx"), 2u);
  EXPECT_EQ(graphs_behind(folder / "decode.onnx"), 2u);
}

TEST_F(CompileContext, ABinaryOfSeveralGraphsIsForTheChip) {
  if (!kHtpIsSimulated) GTEST_SKIP() << "this is about the simulator";
  const TestFolder folder;
  compile_context(ort_model(""), kBoth, folder.path(), "context.bin", {.htp = kSM8750});
  expect_error([&] { y_of(folder / "decode.onnx", 1); }, {"decode.onnx", "only a chip does"});
}

TEST_F(CompileContext, ABinaryOfOneGraphRunsLikeTheGraph) {
  const TestFolder folder;
  for (const auto& [name, columns] : {std::pair("decode", 1), std::pair("prefill", 4)}) {
    const std::string file = std::string(name) + ".onnx";
    compile_context(ort_model(""), std::vector<std::string>{name}, folder.path(), "context.bin",
                    {.htp = kSM8750});
    EXPECT_EQ(graphs_behind(folder / file), 1u);
    EXPECT_EQ(y_of(folder / file, columns), y_of(ort_model(file), columns));
  }
}

TEST_F(CompileContext, RunsFromAnotherPlace) {
  const TestFolder folder;
  fs::create_directory(folder / "made");
  compile_context(ort_model(""), kDecode, folder / "made", "context.bin", {.htp = kSM8750});
  fs::rename(folder / "made", folder / "moved");
  EXPECT_EQ(y_of(folder / "moved/decode.onnx", 1), y_of(ort_model("decode.onnx"), 1));
}

TEST_F(CompileContext, TellsWhatTheCompilerMade) {
  const TestFolder folder;
  fs::create_directory(folder / "out");
  compile_context(ort_model(""), kBoth, folder / "out", "context.bin",
                  {.htp = kSM8750, .graph_dump = folder / "dump"});
  EXPECT_THAT(names_in(folder / "dump"), UnorderedElementsAre("prefill.json", "decode.json"));
  const CompiledGraph graph =
      summarize_qnn_dump(read_text_file(folder / "dump/decode.json"), "decode.json");
  EXPECT_EQ(graph.operators.at("Conv2d"), 1);
  EXPECT_EQ(graph.boundary_tensors, 3);
}

TEST_F(CompileContext, NamesARejectedOperatorAndLeavesNothing) {
  const TestFolder folder;
  for (const std::vector<std::string>& names :
       {std::vector<std::string>{"decode", "rejected"}, {"rejected", "decode"}}) {
    expect_error(
        [&] {
          compile_context(ort_model(""), names, folder.path(), "context.bin", {.htp = kSM8750});
        },
        {"rejected.onnx", "rejected operator layers.0.activation (Acosh)"});
    EXPECT_THAT(names_in(folder.path()), ElementsAre());
  }
}

// What graphs shared up to the one that was rejected is gone.
TEST_F(CompileContext, IsAsBeforeAfterARejectedOperator) {
  const TestFolder folder;
  const auto bytes_of_both = [&](const std::string& name) {
    fs::create_directory(folder / name);
    compile_context(ort_model(""), kBoth, folder / name, "context.bin", {.htp = kSM8750});
    return fs::file_size(folder / (name + "/context.bin"));
  };
  const uintmax_t before = bytes_of_both("before");
  const std::vector<std::string> rejected = {"decode", "rejected"};
  EXPECT_THROW(
      compile_context(ort_model(""), rejected, folder.path(), "context.bin", {.htp = kSM8750}),
      Error);
  EXPECT_EQ(bytes_of_both("after"), before);
}

TEST_F(CompileContext, RefusesAFolderThatIsNotThere) {
  const TestFolder folder;
  expect_error(
      [&] {
        compile_context(ort_model(""), kBoth, folder / "none", "context.bin", {.htp = kSM8750});
      },
      {"none"});
}

TEST_F(CompileContext, ACutBinaryIsRefused) {
  const TestFolder folder;
  compile_context(ort_model(""), kDecode, folder.path(), "context.bin", {.htp = kSM8750});
  const fs::path binary = folder / "context.bin";
  for (const uintmax_t size : {fs::file_size(binary) / 2, uintmax_t{0}}) {
    fs::resize_file(binary, size);
    expect_error([&] { y_of(folder / "decode.onnx", 1); }, {"decode.onnx"});
  }
  fs::remove(binary);
  expect_error([&] { y_of(folder / "decode.onnx", 1); }, {"decode.onnx"});
}

TEST(PointAtContext, RefusesOtherFiles) {
  const TestFolder folder;
  const fs::path broken = folder.write("broken.onnx", "not a model");
  expect_error([&] { point_at_context(broken, {"context.bin", 1}); }, {"broken.onnx"});
  const fs::path graph = folder / "graph.onnx";
  fs::copy_file(ort_model("decode.onnx"), graph);
  EXPECT_EQ(graphs_behind(graph), 0u);
  expect_error([&] { point_at_context(graph, {"context.bin", 1}); }, {"graph.onnx"});
}

}  // namespace
}  // namespace lathe
