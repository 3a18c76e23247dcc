#include "executors/ort/onnx_checker.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "executors/cpu/code_graph.h"
#include "executors/ort/onnx_cases.h"
#include "executors/ort/onnx_writer.h"
#include "support/test_files.h"

namespace lathe {
namespace {

using OnnxChecker = testing::OnnxCheckerTest;

TEST_F(OnnxChecker, AcceptsEveryOperator) {
  const testing::TestFolder folder;
  std::vector<std::filesystem::path> files;
  for (const testing::OnnxCase& c : testing::kOnnxCases) {
    const CodeGraph graph(c.graph);
    const std::filesystem::path place = folder / c.name;
    std::filesystem::create_directory(place);
    write_onnx({{{"decode", &graph.graph()}}}, place);
    files.push_back(place / "decode.onnx");
  }
  testing::expect_valid_onnx(files);
}

}  // namespace
}  // namespace lathe
