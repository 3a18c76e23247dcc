#include "executors/ort/onnx_writer.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "executors/cpu/code_graph.h"
#include "executors/ort/onnx_text.h"
#include "graph/text.h"
#include "support/expect_error.h"
#include "support/test_files.h"

namespace lathe {
namespace {

using testing::expect_error;
using testing::onnx_text;
using testing::read_bytes;
using testing::read_onnx;
using testing::TestFolder;

/// Two of its three constants are large; the second begins where the first ends at 1920 bytes.
constexpr char kProducts[] = R"(
    graph decode ar=1 cl=1
    input %x : u16[1, 40, 1, 1]<0.001, 32768>
    const %up : i8[48, 40, 1, 1]<per channel 0>
    const %down : i8[100, 48, 1, 1]<per channel 0>
    const %bias : i32[100]<per channel 0>
    %h = aten.conv2d(%x, %up) : u16[1, 48, 1, 1]<0.002, 30000>
    %y = aten.conv2d(%h, %down, %bias) : u16[1, 100, 1, 1]<0.002, 30000>
    output y = %y)";

const onnx::TensorProto& initializer(const onnx::ModelProto& model, const std::string& name) {
  for (const onnx::TensorProto& tensor : model.graph().initializer()) {
    if (tensor.name() == name) return tensor;
  }
  ADD_FAILURE() << "no initializer " << name;
  return onnx::TensorProto::default_instance();
}

/// {location, offset, length}
std::vector<std::string> place_of(const onnx::TensorProto& tensor) {
  std::vector<std::string> place;
  for (const auto& entry : tensor.external_data()) place.push_back(entry.value());
  return place;
}

// What one operator is, node for node: a name tells module and value, so that what ONNX Runtime or
// Qualcomm's compiler says about a node can be looked up in the graph.
TEST(OnnxWriter, WritesOperatorsBetweenDequantizeAndQuantize) {
  const CodeGraph graph(R"(
    graph decode ar=1 cl=1
    input %x : u16[1, 4]<0.001, 32768>
    %y = aten.add(%x, %x) : u8[1, 4]<0.25, 128> @ model.layers.0
    output sum = %y)");
  const TestFolder folder;
  write_onnx({{{"decode", &graph.graph()}}}, folder.path());
  const onnx::ModelProto model = read_onnx(folder / "decode.onnx");
  EXPECT_EQ(model.ir_version(), 11);
  EXPECT_EQ(model.opset_import(0).version(), 23);
  std::vector<std::string> lines;
  for (const onnx::NodeProto& node : model.graph().node()) {
    std::string line = node.name() + ": " + node.op_type();
    for (const std::string& input : node.input()) line += " " + input + ",";
    lines.push_back(line + " -> " + node.output(0));
  }
  EXPECT_EQ(lines,
            (std::vector<std::string>{
                "model.layers.0/y/x: DequantizeLinear x, s0.001, u16z32768, -> "
                "model.layers.0/y/x",
                "model.layers.0/y/x.2: DequantizeLinear x, s0.001, u16z32768, -> "
                "model.layers.0/y/x.2",
                "model.layers.0/y: Add model.layers.0/y/x, model.layers.0/y/x.2, -> sum/real",
                "model.layers.0/y/quantize: QuantizeLinear sum/real, s0.25, u8z128, -> sum"}));
  const onnx::GraphProto& written = model.graph();
  EXPECT_EQ(written.input(0).name(), "x");
  EXPECT_EQ(written.input(0).type().tensor_type().elem_type(), onnx::TensorProto::UINT16);
  EXPECT_EQ(written.output(0).name(), "sum");
  EXPECT_EQ(written.output(0).type().tensor_type().elem_type(), onnx::TensorProto::UINT8);
  EXPECT_EQ(written.output(0).type().tensor_type().shape().dim(1).dim_value(), 4);
}

TEST(OnnxWriter, PutsLargeConstantsIntoOneFile) {
  const CodeGraph graph(kProducts);
  const TestFolder folder;
  write_onnx({{{"decode", &graph.graph()}}}, folder.path());
  const onnx::ModelProto model = read_onnx(folder / "decode.onnx");
  using Place = std::vector<std::string>;
  EXPECT_EQ(place_of(initializer(model, "up")), (Place{"weights.bin", "0", "1920"}));
  // From 4096 bytes on, constants begin on a page.
  EXPECT_EQ(place_of(initializer(model, "down")), (Place{"weights.bin", "4096", "4800"}));
  EXPECT_EQ(initializer(model, "bias").raw_data().size(), 400u);
  EXPECT_EQ(std::filesystem::file_size(folder / "weights.bin"), 4096u + 4800u);
}

TEST(OnnxWriter, RolesShareTheirConstants) {
  const CodeGraph decode(kProducts);
  std::string longer = with(kProducts, "graph decode ar=1 cl=1", "graph prefill ar=2 cl=2");
  longer = with(longer, "u16[1, 40, 1, 1]", "u16[1, 40, 1, 2]");
  longer = with(longer, "u16[1, 48, 1, 1]", "u16[1, 48, 1, 2]");
  longer = with(longer, "%y = aten.conv2d(%h, %down, %bias) : u16[1, 100, 1, 1]",
                "%y = aten.conv2d(%h, %down, %bias) : u16[1, 100, 1, 2]");
  const CodeGraph prefill(longer);
  const TestFolder folder;
  write_onnx({{{"decode", &decode.graph()}, {"prefill", &prefill.graph()}}}, folder.path());
  const onnx::ModelProto first = read_onnx(folder / "decode.onnx");
  const onnx::ModelProto second = read_onnx(folder / "prefill.onnx");
  for (const char* name : {"up", "down", "down/scale", "bias"}) {
    EXPECT_EQ(initializer(first, name).SerializeAsString(),
              initializer(second, name).SerializeAsString());
  }
  EXPECT_EQ(std::filesystem::file_size(folder / "weights.bin"), 4096u + 4800u);
}

TEST(OnnxWriter, TheSameGraphGivesTheSameBytes) {
  const CodeGraph graph(kProducts);
  const TestFolder first;
  const TestFolder second;
  write_onnx({{{"decode", &graph.graph()}}}, first.path());
  write_onnx({{{"decode", &graph.graph()}}}, second.path());
  EXPECT_EQ(read_bytes(first / "decode.onnx"), read_bytes(second / "decode.onnx"));
  EXPECT_EQ(read_bytes(first / "weights.bin"), read_bytes(second / "weights.bin"));
}

// Names at the boundary are what callers know; a value inside gives way.
TEST(OnnxWriter, OutputsHaveTheirNames) {
  EXPECT_EQ(onnx_text(R"(
    graph decode ar=1 cl=1
    input %x : u16[1, 4]<0.001, 32768>
    %y = aten.add(%x, %x) : u16[1, 4]<0.002, 32768>
    %z = aten.add(%y, %x) : u16[1, 4]<0.003, 32768>
    output y = %z
    output again = %z
    output same = %x)"),
            "y.2<0.002 32768> = Add(x<0.001 32768>, x<0.001 32768>) @ y\n"
            "y<0.003 32768> = Add(y.2<0.002 32768>, x<0.001 32768>) @ z\n"
            "again<0.003 32768> = Identity(y<0.003 32768>) @ again\n"
            "same<0.001 32768> = Identity(x<0.001 32768>) @ same\n");
}

TEST(OnnxWriter, RefusesConstantsWithoutCodes) {
  const Graph graph = parse_graph(kProducts);
  const TestFolder folder;
  expect_error([&] { write_onnx({{{"decode", &graph}}}, folder.path()); }, {"up", "codes"});
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(OnnxWriter, RefusesOneConstantInTwoForms) {
  Graph graph = CodeGraph(R"(
    graph decode ar=1 cl=1
    input %x : u16[1, 4]<0.001, 32768>
    const %a : u16[4]<0.001, 32768>
    const %b : u16[1, 4]<0.001, 32768>
    %y = aten.add(%x, %a) : u16[1, 4]<0.002, 32768>
    %z = aten.add(%y, %b) : u16[1, 4]<0.003, 32768>
    output z = %z)")
                    .graph();
  graph.set_constant(graph.find("b"), graph.value(graph.find("a")).constant);
  const TestFolder folder;
  expect_error([&] { write_onnx({{{"decode", &graph}}}, folder.path()); },
               {"a", "two forms", "[4]", "[1, 4]"});
}

}  // namespace
}  // namespace lathe
