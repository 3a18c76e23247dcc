// What ONNX Runtime makes of an exported graph, code for code against the reference executor.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "executors/cpu/code_graph.h"
#include "executors/ort/onnx_cases.h"
#include "executors/ort/onnx_writer.h"
#include "executors/ort/ort_test.h"
#include "executors/ort/session.h"
#include "support/test_files.h"

namespace lathe {
namespace {

using testing::kOnnxCases;
using testing::OnnxCase;
using OnnxCodes = testing::OrtTest;

const OrtTarget kCpu = {.threads = 1, .htp = {}};
const OrtTarget kSimulator = {.threads = 0,
                              .htp = HtpOptions{.chip = find_chip("SM8750"), .optimization = 3}};

/// A bias counts in steps of its product: of what is multiplied and the weights of the channel.
Graph with_bias_scales(Graph graph) {
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.op != Op::conv2d || node.inputs.size() < 3) continue;
    Encoding encoding = *graph.value(node.inputs[2]).encoding;
    for (size_t c = 0; c < encoding.scale.size(); ++c) {
      encoding.scale[c] = graph.value(node.inputs[0]).encoding->scale[0] *
                          graph.value(node.inputs[1]).encoding->scale[c];
    }
    graph.set_value_type(node.inputs[2], DType::i32, encoding);
  }
  return graph;
}

void expect_as_reference(const OnnxCase& c, const OrtTarget& target, int64_t codes) {
  CodeGraph graph(c.graph);
  const testing::TestFolder folder;
  const Graph exported = with_bias_scales(graph.graph());
  write_onnx({{{"decode", &exported}}}, folder.path());
  const auto session = make_ort_session(folder / "decode.onnx", graph.graph().io(), target);
  const Results reference = graph.run_reference();
  const Results results = graph.run(*session);
  for (const GraphOutput& output : graph.graph().outputs()) {
    EXPECT_LE(code_difference(graph.graph(), output.name, results, reference), codes)
        << c.name << ", " << output.name;
  }
}

TEST_F(OnnxCodes, OnTheCpuAreTheReferencesCodes) {
  for (const OnnxCase& c : kOnnxCases) expect_as_reference(c, kCpu, c.cpu_codes);
}

TEST_F(OnnxCodes, OnTheSimulatorAreTheReferencesCodes) {
  for (const OnnxCase& c : kOnnxCases) expect_as_reference(c, kSimulator, c.htp_codes);
}

}  // namespace
}  // namespace lathe
