#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "executors/cpu/code_graph.h"
#include "executors/cpu/plan.h"

// Each operator alone, as the reference executor computes it: equal where nothing but integers and
// single float32 operations is inside, one code apart at most where there is an exponential or a
// float32 sum.

namespace lathe {
namespace {

using testing::ElementsAre;

constexpr int64_t kEqual = 0;
constexpr int64_t kOneCode = 1;

/// A graph of one node over u16 inputs %x and %z [2, 5, 24] and what `head` adds.
CodeGraph one_node(const std::string& node, const std::string& head = {}) {
  return CodeGraph(
      "graph prefill ar=5 cl=8\n"
      "input %x : u16[2, 5, 24]<0.00003, 32000>\n"
      "input %z : u16[2, 5, 24]<0.00004, 20000>\n" +
      head + "%y = " + node + "\noutput y = %y\n");
}

TEST(CpuOperators, Add) {
  CodeGraph graph = one_node("aten.add(%x, %z)");
  expect_as_reference(graph, kEqual);
  EXPECT_THAT(step_names(graph.graph()), ElementsAre("copy", "copy", "add"));
}

TEST(CpuOperators, Sub) {
  CodeGraph graph = one_node("aten.sub(%x, %z)");
  expect_as_reference(graph, kEqual);
  EXPECT_THAT(step_names(graph.graph()), ElementsAre("copy", "copy", "sub"));
}

TEST(CpuOperators, AddOfATensorToItself) {
  CodeGraph graph = one_node("aten.add(%x, %x)");
  expect_as_reference(graph, kEqual);
}

TEST(CpuOperators, AddOfAConstant) {
  CodeGraph graph = one_node("aten.add(%x, %c)", "const %c : u16[2, 5, 24]<0.00003, 30000>\n");
  expect_as_reference(graph, kEqual);
  EXPECT_THAT(step_names(graph.graph()), ElementsAre("copy", "add"));
}

TEST(CpuOperators, AddBroadcasts) {
  CodeGraph graph = one_node("aten.add(%x, %c)", "const %c : u16[24]<0.00003, 30000>\n");
  expect_as_reference(graph, kEqual);
}

TEST(CpuOperators, AddOfAScalar) {
  CodeGraph graph = one_node("aten.add(%x) {other=0.5}");
  expect_as_reference(graph, kEqual);
}

TEST(CpuOperators, Mul) {
  CodeGraph graph = one_node("aten.mul(%x, %z)");
  expect_as_reference(graph, kEqual);
  EXPECT_THAT(step_names(graph.graph()), ElementsAre("copy", "copy", "mul"));
}

TEST(CpuOperators, MulByAScalar) {
  for (const char* scalar : {"0.125", "-3.0", "100000.0", "0.0", "1e300"}) {
    CodeGraph graph = one_node(std::string("aten.mul(%x) {other=") + scalar + "}");
    expect_as_reference(graph, kEqual);
  }
}

TEST(CpuOperators, Neg) {
  CodeGraph graph = one_node("aten.neg(%x)");
  expect_as_reference(graph, kEqual);
}

TEST(CpuOperators, Silu) {
  CodeGraph graph = one_node("aten.silu(%w) : u16[2, 5, 24]<0.0003, 1000>",
                             "input %w : u16[2, 5, 24]<0.0005, 30000>\n");
  expect_as_reference(graph, kOneCode);
}

TEST(CpuOperators, Gelu) {
  CodeGraph graph = one_node("aten.gelu(%w) {approximate=tanh} : u16[2, 5, 24]<0.0003, 1000>",
                             "input %w : u16[2, 5, 24]<0.0005, 30000>\n");
  expect_as_reference(graph, kOneCode);
  EXPECT_THAT(step_names(graph.graph()), ElementsAre("copy", "gelu"));
}

TEST(CpuOperators, Tanh) {
  CodeGraph graph = one_node("aten.tanh(%w) : u16[2, 5, 24]<0.00003, 32768>",
                             "input %w : u16[2, 5, 24]<0.0005, 30000>\n");
  expect_as_reference(graph, kOneCode);
  EXPECT_THAT(step_names(graph.graph()), ElementsAre("copy", "tanh"));
}

TEST(CpuOperators, DivByAScalar) {
  for (const char* scalar : {"8.0", "-50.0", "0.3", "1e30"}) {
    CodeGraph graph = one_node(std::string("aten.div(%x) {other=") + scalar + "}");
    expect_as_reference(graph, kEqual);
    EXPECT_THAT(step_names(graph.graph()), ElementsAre("copy", "div"));
  }
}

TEST(CpuOperators, Sigmoid) {
  CodeGraph graph = one_node("aten.sigmoid(%w)", "input %w : u16[2, 5, 24]<0.0005, 30000>\n");
  expect_as_reference(graph, kOneCode);
  EXPECT_THAT(step_names(graph.graph()), ElementsAre("copy", "sigmoid"));
}

TEST(CpuOperators, Hadamard) {
  for (const char* shape : {"[2, 5, 64]", "[3, 128]", "[1, 7, 1]", "[4, 2]", "[90, 256]"}) {
    CodeGraph graph = one_node("lathe.hadamard(%w) : u16" + std::string(shape) + "<0.0007, 33000>",
                               "input %w : u16" + std::string(shape) + "<0.0005, 30000>\n");
    expect_as_reference(graph, kEqual);
    EXPECT_THAT(step_names(graph.graph()), ElementsAre("copy", "hadamard"));
  }
}

TEST(CpuOperators, RowsAreTakenInTheOrderOfMemory) {
  // [1, heads, tokens, D] over memory [tokens, heads, D], as projections leave it.
  CodeGraph graph(R"(graph prefill ar=5 cl=8
input %x : u16[1, 5, 48]<0.00003, 32000>
const %g : u16[16]<0.00003, 30000>
%n = aten.neg(%x)
%v = aten.view(%n) {sizes=[1, 5, 3, 16]}
%t = aten.transpose(%v) {dim0=1, dim1=2}
%h = lathe.hadamard(%t)
%r = lathe.rms_norm(%h, %g) {eps=0.00001}
%b = aten.transpose(%r) {dim0=1, dim1=2}
output y = %b
)");
  expect_as_reference(graph, kOneCode);
  EXPECT_THAT(step_names(graph.graph()), ElementsAre("copy", "neg", "hadamard", "rms_norm"));
}

TEST(CpuOperators, Softmax) {
  CodeGraph graph =
      one_node("aten.softmax(%w) {dim=-1}", "input %w : u16[2, 5, 24]<0.0005, 30000>\n");
  expect_as_reference(graph, kOneCode);
}

TEST(CpuOperators, MaskedSoftmax) {
  CodeGraph graph = one_node("lathe.masked_softmax(%w, %m) {dim=-1, below=20.0}",
                             "input %w : u16[2, 5, 24]<0.0005, 30000>\n"
                             "input %m : u16[1, 5, 24]<0.0038910506, 65535>\n");
  expect_as_reference(graph, kEqual);
}

TEST(CpuOperators, RmsNorm) {
  CodeGraph graph =
      one_node("lathe.rms_norm(%x, %g) {eps=0.00001}", "const %g : u16[24]<0.00003, 30000>\n");
  expect_as_reference(graph, kOneCode);
  EXPECT_THAT(step_names(graph.graph()), ElementsAre("copy", "rms_norm"));
}

TEST(CpuOperators, RmsNormWithAWeightThatIsAnInput) {
  CodeGraph graph =
      one_node("lathe.rms_norm(%x, %g) {eps=0.00001}", "input %g : u16[24]<0.00003, 30000>\n");
  expect_as_reference(graph, kOneCode);
}

TEST(CpuOperators, RmsNormOfOtherCodesAndConstants) {
  CodeGraph bytes = one_node("lathe.rms_norm(%b, %g) {eps=0.00001} : u16[3, 24]<0.0001, 32768>",
                             "input %b : u8[3, 24]<0.02, 120>\nconst %g : i8[24]<0.01, 0>\n");
  expect_as_reference(bytes, kOneCode);
  CodeGraph constant = one_node("lathe.rms_norm(%c, %g) {eps=0.00001}",
                                "const %c : u16[3, 24]<0.0001, 32768>\n"
                                "const %g : u16[24]<0.00003, 30000>\n");
  expect_as_reference(constant, kOneCode);
}

TEST(CpuOperators, Requantize) {
  for (const char* type :
       {"u16[2, 5, 24]<0.0001, 30000>", "u8[2, 5, 24]<0.01, 128>", "u8[2, 5, 24]<0.004, 3>"}) {
    CodeGraph graph = one_node(std::string("lathe.requantize(%x) : ") + type);
    expect_as_reference(graph, kEqual);
  }
}

TEST(CpuOperators, RequantizeOfBytes) {
  CodeGraph up = one_node("lathe.requantize(%b) : u16[3, 7]<0.0001, 32768>",
                          "input %b : u8[3, 7]<0.02, 128>\n");
  expect_as_reference(up, kEqual);
  CodeGraph across =
      one_node("lathe.requantize(%b) : u8[3, 7]<0.03, 100>", "input %b : u8[3, 7]<0.02, 128>\n");
  expect_as_reference(across, kEqual);
}

TEST(CpuOperators, RequantizeOfAConstant) {
  CodeGraph graph = one_node("lathe.requantize(%c) : u8[3, 7]<0.02, 128>",
                             "const %c : u16[3, 7]<0.0001, 32768>\n");
  expect_as_reference(graph, kEqual);
}

TEST(CpuOperators, RequantizeOfATensorThatRepeatsOrSkips) {
  for (const char* moved :
       {"%m = aten.expand(%u) {sizes=[3, 2, 5, 24]}", "%m = aten.slice(%u) {dim=1, start=1, end=2}",
        "%m = aten.transpose(%u) {dim0=1, dim1=3}"}) {
    CodeGraph graph(std::string("graph prefill ar=5 cl=8\n"
                                "input %x : u16[2, 5, 24]<0.00003, 32000>\n"
                                "%u = aten.unsqueeze(%x) {dim=0}\n") +
                    moved +
                    "\n%n = aten.neg(%m)\n"
                    "%y = lathe.requantize(%n)\n"
                    "output y = %y\n");
    expect_as_reference(graph, kEqual);
  }
}

TEST(CpuOperators, Linear) {
  // Channels and depth around whole blocks of 16 and 4, one row and several.
  for (const char* sizes : {"1, 1", "1, 7", "16, 24", "17, 25", "40, 67", "300, 64"}) {
    const std::string text(sizes);
    const std::string k = text.substr(text.find(' ') + 1);
    for (const char* rows : {"1", "5"}) {
      CodeGraph graph(std::string("graph prefill ar=5 cl=8\ninput %x : u16[1, ") + rows + ", " + k +
                      "]<0.00003, 32000>\nconst %w : i8[" + sizes +
                      "]<per channel 0>\n%y = aten.linear(%x, %w)\noutput y = %y\n");
      expect_as_reference(graph, kEqual);
    }
  }
}

TEST(CpuOperators, LinearWithBiasAndOneScale) {
  CodeGraph graph =
      one_node("aten.linear(%x, %w, %b)", "const %w : i8[40, 24]<0.005, 0>\nconst %b : i32[40]\n");
  expect_as_reference(graph, kEqual);
  EXPECT_THAT(step_names(graph.graph()), ElementsAre("copy", "linear"));
}

TEST(CpuOperators, LinearOfFourBitWeights) {
  // Channels that fill no group of 16, depths that fill no line of 8, blocks of every size.
  for (const char* weight :
       {"i4[1, 1]<per channel 0>", "i4[17, 25]<per channel 0>", "i4[40, 64]<per channel 0>",
        "i4[17, 48]<per channel 0, blocks of 16>", "i4[40, 96]<per channel 0, blocks of 32>",
        "i4[300, 128]<per channel 0, blocks of 64>"}) {
    const std::string text(weight);
    const size_t comma = text.find(", ");
    const std::string k = text.substr(comma + 2, text.find(']') - comma - 2);
    CodeGraph graph("graph prefill ar=5 cl=8\ninput %x : u16[1, 5, " + k +
                    "]<0.00003, 32000>\nconst %w : " + text +
                    "\n%y = aten.linear(%x, %w)\noutput y = %y\n");
    expect_as_reference(graph, kEqual);
    EXPECT_THAT(step_names(graph.graph()), ElementsAre("copy", "linear"));
  }
}

TEST(CpuOperators, LinearOfFourBitWeightsFromBytes) {
  CodeGraph graph = one_node("aten.linear(%b, %w) : u16[3, 20]<0.001, 32768>",
                             "input %b : u8[3, 32]<0.02, 100>\n"
                             "const %w : i4[20, 32]<per channel 0, blocks of 16>\n");
  expect_as_reference(graph, kEqual);
}

TEST(CpuOperators, LinearOfSixteenBitWeights) {
  CodeGraph graph = one_node("aten.linear(%x, %w, %b)",
                             "const %w : i16[40, 24]<per channel 0>\nconst %b : i32[40]\n");
  expect_as_reference(graph, kEqual);
}

TEST(CpuOperators, LinearFromAndToBytes) {
  CodeGraph from = one_node("aten.linear(%b, %w) : u16[3, 20]<0.001, 32768>",
                            "input %b : u8[3, 24]<0.02, 100>\nconst %w : i8[20, 24]<0.005, 0>\n");
  expect_as_reference(from, kEqual);
  EXPECT_THAT(step_names(from.graph()), ElementsAre("copy", "linear"));
  CodeGraph to = one_node("aten.linear(%x, %w) : u8[2, 5, 20]<0.02, 120>",
                          "const %w : i8[20, 24]<0.005, 0>\n");
  expect_as_reference(to, kEqual);
  EXPECT_THAT(step_names(to.graph()), ElementsAre("copy", "linear+narrow"));
}

TEST(CpuOperators, LinearsOverOneInputAreOneStep) {
  CodeGraph graph = one_node("aten.add(%p, %q)",
                             "const %w1 : i8[40, 24]<per channel 0>\n"
                             "const %w2 : i8[40, 24]<per channel 0>\n"
                             "%p = aten.linear(%x, %w1)\n"
                             "%q = aten.linear(%x, %w2)\n");
  expect_as_reference(graph, kEqual);
  EXPECT_THAT(step_names(graph.graph()), ElementsAre("copy", "linear+add"));
}

TEST(CpuOperators, LinearOverTheResultOfTheLastOneIsAStepOfItsOwn) {
  CodeGraph graph = one_node("aten.linear(%p, %w2)",
                             "const %w1 : i8[24, 24]<per channel 0>\n"
                             "const %w2 : i8[40, 24]<per channel 0>\n"
                             "%p = aten.linear(%x, %w1)\n");
  expect_as_reference(graph, kEqual);
  EXPECT_THAT(step_names(graph.graph()), ElementsAre("copy", "linear", "linear"));
}

/// conv2d over rows [1, 5, 24] and back to rows, as passes write a linear.
const std::string kRowsConv = R"(graph prefill ar=5 cl=8
input %x : u16[1, 5, 24]<0.00003, 32000>
const %w : i8[40, 24, 1, 1]<per channel 0>
%n = aten.neg(%x)
%r = aten.reshape(%n) {sizes=[1, 5, 24, 1]}
%t = aten.permute(%r) {dims=[0, 2, 3, 1]}
%c = aten.conv2d(%t, %w)
%b = aten.permute(%c) {dims=[0, 3, 1, 2]}
%y = aten.reshape(%b) {sizes=[1, 5, 40]}
)";

TEST(CpuConv2d, OfRowsIsALinearWithoutCopies) {
  CodeGraph graph(kRowsConv + "output y = %y\n");
  expect_as_reference(graph, kEqual);
  EXPECT_THAT(step_names(graph.graph()), ElementsAre("copy", "neg", "linear"));
}

TEST(CpuConv2d, OfFourBitWeightsIsALinear) {
  std::string text = with(kRowsConv, "u16[1, 5, 24]", "u16[1, 5, 32]");
  text = with(text, "sizes=[1, 5, 24, 1]", "sizes=[1, 5, 32, 1]");
  text = with(text, "i8[40, 24, 1, 1]<per channel 0>",
              "i4[40, 32, 1, 1]<per channel 0, blocks of 16>");
  CodeGraph graph(text + "output y = %y\n");
  expect_as_reference(graph, kEqual);
  EXPECT_THAT(step_names(graph.graph()), ElementsAre("copy", "neg", "linear"));
}

TEST(CpuConv2d, ProductsOfOneInputAreOneStep) {
  CodeGraph graph(with(with(kRowsConv, "%n = ", "const %w2 : i8[40, 24, 1, 1]<0.005, 0>\n%n = "),
                       "%b = aten.permute(%c)",
                       "%c2 = aten.conv2d(%t, %w2)\n"
                       "%s = aten.silu(%c2) : u16[1, 40, 1, 5]<0.0003, 1000>\n"
                       "%m = aten.mul(%s, %c) : u16[1, 40, 1, 5]<0.002, 30000>\n"
                       "%b = aten.permute(%m)") +
                  "output y = %y\n");
  expect_as_reference(graph, kOneCode);
  EXPECT_THAT(step_names(graph.graph()), ElementsAre("copy", "neg", "linear+silu_mul"));
}

TEST(CpuConv2d, BiasAndOneScale) {
  CodeGraph graph(with(with(kRowsConv, "const %w : i8[40, 24, 1, 1]<per channel 0>",
                            "const %w : i8[40, 24, 1, 1]<0.005, 0>\nconst %bias : i32[40]"),
                       "aten.conv2d(%t, %w)", "aten.conv2d(%t, %w, %bias)") +
                  "output y = %y\n");
  expect_as_reference(graph, kEqual);
}

TEST(CpuConv2d, ChannelsThatAreApartAreCopiedTogetherOnce) {
  for (const char* shape : {"[1, 24, 1, 5]", "[1, 24, 7, 1]", "[3, 24, 4, 5]", "[2, 1, 3, 2]"}) {
    const std::string channels = shape[5] == '4' ? "24" : "1";
    CodeGraph graph("graph prefill ar=5 cl=8\ninput %x : u16" + std::string(shape) +
                    "<0.00003, 32000>\nconst %w1 : i8[40, " + channels +
                    ", 1, 1]<per channel 0>\nconst %w2 : i8[17, " + channels +
                    ", 1, 1]<per channel 0>\n%n = aten.neg(%x)\n%p = aten.conv2d(%n, %w1)\n"
                    "%q = aten.conv2d(%n, %w2)\n%r = aten.neg(%p)\n%s = aten.neg(%q)\n"
                    "output r = %r\noutput s = %s\n");
    expect_as_reference(graph, kEqual);
    const std::vector<std::string> names = step_names(graph.graph());
    const auto linear = [](const std::string& name) { return name.starts_with("linear"); };
    EXPECT_EQ(std::count_if(names.begin(), names.end(), linear), 1) << shape;
  }
}

TEST(CpuConv2d, OfAnInputOrAConstant) {
  for (const char* kind : {"input", "const"}) {
    CodeGraph graph("graph prefill ar=5 cl=8\n" + std::string(kind) +
                    " %x : u16[2, 24, 3, 5]<0.00003, 32000>\n"
                    "const %w : i8[40, 24, 1, 1]<per channel 0>\n"
                    "%c = aten.conv2d(%x, %w)\n%n = aten.neg(%x)\noutput c = %c\noutput n = %n\n");
    expect_as_reference(graph, kEqual);
  }
}

TEST(CpuConv2d, OfAWindowIntoRows) {
  // Rows that are part of longer ones: no copy, the rows are only further apart.
  CodeGraph graph(R"(graph prefill ar=5 cl=8
input %x : u16[1, 5, 48]<0.00003, 32000>
const %w : i8[40, 24, 1, 1]<per channel 0>
%n = aten.neg(%x)
%s = aten.slice(%n) {dim=2, start=16, end=40}
%r = aten.reshape(%s) {sizes=[1, 5, 24, 1]}
%t = aten.permute(%r) {dims=[0, 2, 3, 1]}
%c = aten.conv2d(%t, %w)
%b = aten.permute(%c) {dims=[0, 3, 1, 2]}
output y = %b
)");
  expect_as_reference(graph, kEqual);
  EXPECT_THAT(step_names(graph.graph()), ElementsAre("copy", "neg", "linear"));
}

TEST(CpuConv2d, FromAndToBytes) {
  CodeGraph from = one_node("aten.conv2d(%b, %w) : u16[1, 20, 1, 3]<0.001, 32768>",
                            "input %b : u8[1, 24, 1, 3]<0.02, 100>\n"
                            "const %w : i8[20, 24, 1, 1]<0.005, 0>\n");
  expect_as_reference(from, kEqual);
}

TEST(CpuOperators, ElementwiseKeepsTheOrderOfMemory) {
  CodeGraph graph(with(kRowsConv, "%b = aten.permute(%c)",
                       "%s = aten.sigmoid(%c)\n%m = aten.mul(%c, %s)\n%d = aten.sub(%m, %c)\n"
                       "%e = lathe.requantize(%d) : u16[1, 40, 1, 5]<0.0002, 30000>\n"
                       "%b = aten.permute(%e)") +
                  "output y = %y\n");
  // One code of the sigmoid is less than one of the product.
  expect_as_reference(graph, kOneCode);
  EXPECT_THAT(step_names(graph.graph()),
              ElementsAre("copy", "neg", "linear+sigmoid+mul+sub+requantize"));
}

TEST(CpuOperators, ElementwiseOfTwoOrdersIsDense) {
  CodeGraph graph = one_node("aten.mul(%t, %n)",
                             "input %w : u16[2, 4, 4]<0.00003, 32000>\n%n = aten.neg(%w)\n"
                             "%t = aten.transpose(%n) {dim0=1, dim1=2}\n");
  expect_as_reference(graph, kEqual);
}

TEST(CpuOperators, Matmul) {
  CodeGraph graph = one_node("aten.matmul(%x, %b) : u16[2, 5, 9]<0.001, 30000>",
                             "input %b : u8[2, 24, 9]<0.02, 128>\n");
  expect_as_reference(graph, kEqual);
}

TEST(CpuOperators, Embedding) {
  for (const char* table : {"u16[10, 12]<0.001, 3>", "u8[10, 12]<0.01, 3>"}) {
    CodeGraph graph = one_node("aten.embedding(%t, %ids)",
                               std::string("const %t : ") + table + "\ninput %ids : i32[2, 3]\n");
    expect_as_reference(graph, kEqual);
    EXPECT_THAT(step_names(graph.graph()), ElementsAre("copy", "embedding"));
  }
}

TEST(CpuOperators, EmbeddingOfWrongIdsReadsInsideTheTable) {
  CodeGraph graph = one_node("aten.embedding(%t, %ids)",
                             "const %t : u16[10, 12]<0.001, 3>\ninput %ids : i32[1, 4]\n");
  graph.set_input<int32_t>("ids", {-1, 10, 2147483647, -2147483647});
  expect_as_reference(graph, kEqual);
}

TEST(CpuOperators, EmbeddingOfATableThatIsComputed) {
  CodeGraph graph = one_node("aten.embedding(%t, %ids)",
                             "input %ids : i32[1, 4]\n%v = aten.view(%x) {sizes=[10, 24]}\n"
                             "%t = aten.slice(%v) {dim=0, start=3, end=9}\n");
  expect_as_reference(graph, kEqual);
}

TEST(CpuOperators, MovementInTheOrderOfMemoryIsNothing) {
  for (const char* node : {
           "aten.alias(%s)",
           "aten.dropout(%s)",
           "aten.reshape(%s) {sizes=[5, -1, 6]}",
           "aten.unsqueeze(%s) {dim=-1}",
           "aten.view(%s) {sizes=[10, 24]}",
       }) {
    CodeGraph graph = one_node(node, "%s = aten.neg(%x)\n");
    expect_as_reference(graph, kEqual);
    EXPECT_THAT(step_names(graph.graph()), ElementsAre("copy", "neg")) << node;
  }
}

TEST(CpuOperators, MovementIsStridesAndOneCopyOut) {
  for (const char* node : {
           "aten.expand(%s) {sizes=[3, -1, 5, 24]}",
           "aten.permute(%s) {dims=[2, 0, 1]}",
           "aten.select(%s) {dim=1, index=3}",
           "aten.slice(%s) {dim=-1, start=5, end=9223372036854775807}",
           "aten.transpose(%s) {dim0=0, dim1=-1}",
       }) {
    CodeGraph graph = one_node(node, "%s = aten.neg(%x)\n");
    expect_as_reference(graph, kEqual);
    EXPECT_THAT(step_names(graph.graph()), ElementsAre("copy", "neg", "copy")) << node;
  }
}

TEST(CpuOperators, Cat) {
  for (const char* dim : {"0", "1", "-1"}) {
    CodeGraph graph = one_node(std::string("aten.cat(%x, %v) {dim=") + dim + "}",
                               "input %v : u16[2, 5, 24]<0.00003, 32000>\n");
    expect_as_reference(graph, kEqual);
  }
}

TEST(CpuOperators, MovementOfAnInput) {
  for (const char* node : {
           "aten.alias(%x)",
           "aten.expand(%x) {sizes=[3, 2, 5, 24]}",
           "aten.permute(%x) {dims=[1, 2, 0]}",
           "aten.reshape(%x) {sizes=[5, 8, 6]}",
           "aten.select(%x) {dim=1, index=3}",
           "aten.slice(%x) {dim=1, start=2, end=4}",
           "aten.transpose(%x) {dim0=0, dim1=1}",
           "aten.unsqueeze(%x) {dim=1}",
       }) {
    CodeGraph graph = one_node(node);
    expect_as_reference(graph, kEqual);
  }
}

TEST(CpuOperators, MovementOfAnInputOfOneRow) {
  // No stride of such an input matters, so it is read where it is.
  for (const char* node : {
           "aten.view(%r) {sizes=[2, 3, 4]}",
           "aten.slice(%r) {dim=-1, start=6, end=18}",
           "aten.expand(%r) {sizes=[1, 3, 24]}",
           "aten.transpose(%r) {dim0=1, dim1=2}",
       }) {
    CodeGraph out = one_node(node, "input %r : u16[1, 1, 24]<0.00003, 32000>\n");
    expect_as_reference(out, kEqual);
    EXPECT_THAT(step_names(out.graph()), ElementsAre("copy"));
    CodeGraph read =
        one_node("aten.neg(%m)",
                 "input %r : u16[1, 1, 24]<0.00003, 32000>\n%m = " + std::string(node) + "\n");
    expect_as_reference(read, kEqual);
  }
}

TEST(CpuOperators, TransposedViewOfAnInputOfOneRowIsCopiedByItsOwnStrides) {
  CodeGraph graph = one_node("aten.neg(%t)",
                             "input %r : u16[1, 24]<0.00003, 32000>\n"
                             "%v = aten.view(%r) {sizes=[4, 6]}\n"
                             "%t = aten.transpose(%v) {dim0=0, dim1=1}\n");
  expect_as_reference(graph, kEqual);
}

TEST(CpuOperators, MovementOfAConstant) {
  CodeGraph graph =
      one_node("aten.transpose(%c) {dim0=0, dim1=1}", "const %c : u16[4, 6]<0.001, 3>\n");
  expect_as_reference(graph, kEqual);
  EXPECT_THAT(step_names(graph.graph()), ElementsAre("copy"));
}

TEST(CpuOperators, IntegersAndBooleansMoveToo) {
  CodeGraph integers = one_node("aten.transpose(%i) {dim0=0, dim1=1}", "input %i : i32[3, 4]\n");
  expect_as_reference(integers, kEqual);
  CodeGraph booleans = one_node("aten.le(%x, %z)");
  expect_as_reference(booleans, kEqual);
}

TEST(CpuOperators, ScalarsAndEmptyTensors) {
  CodeGraph scalar = one_node("aten.neg(%s)", "input %s : u16[]<0.0001, 30000>\n");
  expect_as_reference(scalar, kEqual);
  CodeGraph empty = one_node("aten.transpose(%n) {dim0=0, dim1=1}",
                             "input %e : u16[3, 0]<0.0001, 30000>\n%n = aten.neg(%e)\n");
  expect_as_reference(empty, kEqual);
  CodeGraph rows =
      one_node("aten.linear(%e, %w)",
               "input %e : u16[0, 24]<0.0001, 30000>\nconst %w : i8[8, 24]<0.01, 0>\n");
  expect_as_reference(rows, kEqual);
  CodeGraph bytes = one_node("lathe.requantize(%e) : u8[2, 0]<0.01, 128>",
                             "input %e : u16[2, 0]<0.0001, 30000>\n");
  expect_as_reference(bytes, kEqual);
}

TEST(CpuOperators, PerChannelActivations) {
  CodeGraph graph = one_node("aten.neg(%c) : u16[3, 24]<0.0001, 30000>",
                             "const %c : u16[3, 24]<per channel 0>\n");
  expect_as_reference(graph, kEqual);
}

TEST(CpuOperators, LargeTensorsAreSplitOverTheTeam) {
  CodeGraph graph(R"(graph prefill ar=70 cl=80
input %x : u16[1, 70, 300]<0.00003, 32000>
const %g : u16[300]<0.00003, 30000>
const %w : i8[310, 300]<per channel 0>
%n = aten.neg(%x) : u16[1, 70, 300]<0.00004, 30000>
%a = aten.add(%x, %n)
%m = aten.mul(%x, %n)
%l = aten.linear(%n, %w)
%r = lathe.rms_norm(%n, %g) {eps=0.00001}
output a = %a
output m = %m
output l = %l
output r = %r
)");
  expect_as_reference(graph, kOneCode);
}

}  // namespace
}  // namespace lathe
