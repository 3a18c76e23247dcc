// The embedded model, compiled in the forms that an integer graph can have, as ONNX files.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "artifact/read.h"
#include "executors/ort/onnx_checker.h"
#include "executors/ort/onnx_writer.h"
#include "graph/diff.h"
#include "lathe/compile.h"
#include "passes/pipelines.h"
#include "support/test_files.h"

namespace lathe {
namespace {

/// The model compiled with these options and brought into the form for the HTP.
Model exported(CompileOptions options) {
  const testing::TestFolder folder;
  options.context = 64;
  options.prefill = 8;
  options.calibration_tokens = 64;
  options.threads = 1;
  compile("tiny", folder / "model.lathe", options);
  Model model = read_model(folder / "model.lathe");
  for (Graph& graph : model.graphs) run_passes(graph, export_pipeline(Target::htp));
  return model;
}

using OnnxExport = testing::OnnxCheckerTest;

TEST_F(OnnxExport, IsValidInEveryForm) {
  for (const CompileOptions& options : std::vector<CompileOptions>{
           {}, {.quant = "16a4w_block", .r3 = true}, {.variant = "hf_mainline"}}) {
    const Model model = exported(options);
    const testing::TestFolder folder;
    std::vector<NamedGraph> graphs;
    for (const Graph& graph : model.graphs) {
      graphs.push_back({std::string(name_of(graph.role())), &graph});
    }
    write_onnx(graphs, folder.path());
    std::vector<std::filesystem::path> files;
    for (const NamedGraph& graph : graphs) files.push_back(folder / (graph.name + ".onnx"));
    testing::expect_valid_onnx(files);
  }
}

// silu aside, whose product with the sigmoid is calibrated anew where a model is compiled for the
// HTP, an artifact for the CPU becomes, node for node, what is compiled for the HTP.
TEST(ExportPipeline, MakesOneGraphOfArtifactsForEitherTarget) {
  const Model cpu = exported({.target = "cpu"});
  const Model htp = exported({.target = "htp", .disabled_passes = {"decompose_silu"}});
  ASSERT_EQ(cpu.graphs.size(), htp.graphs.size());
  for (size_t i = 0; i < cpu.graphs.size(); ++i) {
    const GraphDiff difference = diff(cpu.graphs[i], htp.graphs[i]);
    EXPECT_EQ(difference.relation, GraphRelation::isomorphic)
        << (difference.difference ? difference.difference->what : "");
  }
}

}  // namespace
}  // namespace lathe
