#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "executors/cpu/code_graph.h"

// The graph as it was traced, with nothing rewritten: whole caches of 16 bits in and out, norms in
// pieces, products of two 16-bit activations.

namespace lathe {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

constexpr int64_t kEqual = 0;
constexpr int64_t kOneCode = 1;

CodeGraph one_node(const std::string& node, const std::string& head = {}) {
  return CodeGraph(
      "graph prefill ar=5 cl=8\n"
      "input %x : u16[1, 3, 5, 24]<0.00003, 32000>\n"
      "%n = aten.neg(%x)\n" +
      head + "%y = " + node + "\noutput y = %y\n");
}

TEST(CpuBroadcast, EveryFormEqualsTheReference) {
  for (const char* shape :
       {"[1, 3, 5, 24]", "[1, 1, 5, 24]", "[24]", "[5, 1]", "[1, 3, 1, 1]", "[1]", "[3, 1, 24]"}) {
    const std::string other = std::string("const %o : u16") + shape + "<0.00004, 20000>\n";
    for (const char* node : {"aten.add(%n, %o)", "aten.add(%o, %n)", "aten.mul(%n, %o)",
                             "aten.mul(%o, %n)", "aten.sub(%n, %o)", "aten.sub(%o, %n)"}) {
      CodeGraph graph = one_node(node, other);
      expect_as_reference(graph, kEqual);
    }
  }
}

TEST(CpuBroadcast, KeepsTheOrderOfMemory) {
  // Heads of tokens times one row of cos for each token.
  CodeGraph graph(R"(graph prefill ar=5 cl=8
input %x : u16[1, 5, 48]<0.00003, 32000>
const %cos : u16[1, 1, 5, 16]<0.00003, 32768>
%n = aten.neg(%x)
%h = aten.view(%n) {sizes=[1, 5, 3, 16]}
%t = aten.transpose(%h) {dim0=1, dim1=2}
%m = aten.mul(%t, %cos)
%b = aten.transpose(%m) {dim0=1, dim1=2}
output y = %b
)");
  expect_as_reference(graph, kEqual);
  EXPECT_THAT(step_names(graph.graph()), ElementsAre("copy", "neg", "mul"));
}

TEST(CpuBroadcast, BothOperandsMayBeRepeated) {
  CodeGraph graph = one_node("aten.add(%a, %o)",
                             "const %o : u16[1, 1, 5, 24]<0.00004, 20000>\n"
                             "%a = aten.slice(%n) {dim=2, start=1, end=2}\n");
  expect_as_reference(graph, kEqual);
}

TEST(CpuBroadcast, LargeTensorsAreSplitOverTheTeam) {
  CodeGraph graph(R"(graph prefill ar=70 cl=80
input %x : u16[1, 6, 70, 80]<0.00003, 32000>
const %o : u16[1, 1, 70, 80]<0.00004, 20000>
%y = aten.add(%x, %o)
output y = %y
)");
  expect_as_reference(graph, kEqual);
}

TEST(CpuOperatorsWithANumber, AddAndSub) {
  for (const char* node : {"aten.add(%n) {other=0.37}", "aten.sub(%n) {other=0.37}"}) {
    CodeGraph graph = one_node(node);
    expect_as_reference(graph, kEqual);
    EXPECT_THAT(step_names(graph.graph()), Not(Contains("reference")));
  }
}

TEST(CpuOperatorsWithANumber, SquareAndOtherPowers) {
  CodeGraph square = one_node("aten.pow(%n) {exponent=2}");
  expect_as_reference(square, kEqual);
  EXPECT_THAT(step_names(square.graph()), ElementsAre("copy", "neg", "square"));
  CodeGraph cube = one_node("aten.pow(%n) {exponent=3}");
  expect_as_reference(cube, kEqual);
}

TEST(CpuSoftmax, IsWithinOneCode) {
  for (const char* shape : {"[2, 5, 24]", "[1, 3]", "[7, 1]", "[4, 1000]", "[40, 500]"}) {
    CodeGraph graph("graph prefill ar=5 cl=8\ninput %w : u16" + std::string(shape) +
                    "<0.0005, 30000>\n%y = aten.softmax(%w) {dim=-1}\noutput y = %y\n");
    expect_as_reference(graph, kOneCode);
    EXPECT_THAT(step_names(graph.graph()), Not(Contains("reference")));
  }
}

/// A product of a [1, heads, M, K] and b [1, heads, K, N].
std::string product(const std::string& b_type, int64_t m, int64_t k, int64_t n) {
  return fmt::format(R"(graph prefill ar=5 cl=8
input %a : u16[1, 4, {m}, {k}]<0.00003, 31000>
input %b : {b_type}
%y = aten.matmul(%a, %b) : u16[1, 4, {m}, {n}]<0.0004, 30000>
output y = %y
)",
                     fmt::arg("m", m), fmt::arg("k", k), fmt::arg("n", n),
                     fmt::arg("b_type", b_type));
}

TEST(CpuMatmul, OfWordsAndOfBytes) {
  for (const auto& [m, k, n] : {std::tuple{1, 1, 1},
                                {1, 7, 5},
                                {5, 16, 33},
                                {3, 65, 64},
                                {2, 300, 9},
                                {20, 64, 200},
                                {1, 5, 1}}) {
    for (const char* type : {"u16[1, 4, {}, {}]<0.00004, 33000>", "u8[1, 4, {}, {}]<0.01, 128>"}) {
      CodeGraph graph(product(fmt::format(fmt::runtime(type), k, n), m, k, n));
      expect_as_reference(graph, kEqual);
      EXPECT_THAT(step_names(graph.graph()), Contains("matmul"));
    }
  }
}

TEST(CpuMatmul, OfStacksOfAnyRank) {
  for (const char* lead : {"", "6, ", "2, 3, ", "2, 1, 3, "}) {
    CodeGraph graph(
        fmt::format("graph prefill ar=5 cl=8\n"
                    "input %a : u16[{0}5, 16]<0.00003, 31000>\n"
                    "input %b : u16[{0}16, 9]<0.00004, 33000>\n"
                    "%y = aten.matmul(%a, %b) : u16[{0}5, 9]<0.0004, 30000>\n"
                    "output y = %y\n",
                    lead));
    expect_as_reference(graph, kEqual);
  }
}

TEST(CpuMatmul, LargestCodesSumExactly) {
  CodeGraph graph(product("u16[1, 4, 3000, 3]<0.00004, 0>", 2, 3000, 3));
  graph.set_input("a", std::vector<uint16_t>(4 * 2 * 3000, 0));
  graph.set_input("b", std::vector<uint16_t>(4 * 3000 * 3, 65535));
  expect_as_reference(graph, kEqual);
}

/// Scores and results of heads that share keys and values of a cache [1, 2, 24, 16] three by three.
const std::string kGrouped = R"(graph prefill ar=5 cl=24
input %q : u16[1, 6, 5, 16]<0.00003, 31000>
input %keys : u16[1, 2, 24, 16]<0.00004, 33000>
input %values : u16[1, 2, 24, 16]<0.00004, 33000>
%k = aten.neg(%keys)
%v = aten.neg(%values)
%ku = aten.unsqueeze(%k) {dim=2}
%ke = aten.expand(%ku) {sizes=[1, 2, 3, 24, 16]}
%kr = aten.reshape(%ke) {sizes=[1, 6, 24, 16]}
%kt = aten.transpose(%kr) {dim0=2, dim1=3}
%s = aten.matmul(%q, %kt) : u16[1, 6, 5, 24]<0.0003, 30000>
%vu = aten.unsqueeze(%v) {dim=2}
%ve = aten.expand(%vu) {sizes=[1, 2, 3, 24, 16]}
%vr = aten.reshape(%ve) {sizes=[1, 6, 24, 16]}
%o = aten.matmul(%s, %vr) : u16[1, 6, 5, 16]<0.003, 30000>
%t = aten.transpose(%o) {dim0=1, dim1=2}
%y = aten.reshape(%t) {sizes=[1, 5, 96]}
output y = %y
)";

TEST(RepeatedMatmulPattern, HeadsAreNotRepeatedInMemory) {
  CodeGraph graph(kGrouped);
  expect_as_reference(graph, kEqual);
  EXPECT_THAT(step_names(graph.graph()),
              ElementsAre("copy", "neg", "copy", "neg", "copy", "matmul", "matmul"));
}

TEST(RepeatedMatmulPattern, KeysThatLieTransposed) {
  std::string text =
      with(kGrouped, "input %keys : u16[1, 2, 24, 16]", "input %keys : u16[1, 2, 16, 24]");
  text = with(text, "%ke = aten.expand(%ku) {sizes=[1, 2, 3, 24, 16]}",
              "%ke = aten.expand(%ku) {sizes=[1, 2, 3, 16, 24]}");
  text = with(text, "%kt = aten.transpose(%kr) {dim0=2, dim1=3}\n", "");
  text = with(text, "%kr = aten.reshape(%ke) {sizes=[1, 6, 24, 16]}",
              "%kt = aten.reshape(%ke) {sizes=[1, 6, 16, 24]}");
  CodeGraph graph(text);
  expect_as_reference(graph, kEqual);
  EXPECT_THAT(step_names(graph.graph()),
              ElementsAre("copy", "neg", "copy", "neg", "copy", "matmul", "matmul"));
}

TEST(RepeatedMatmulPattern, HeadsThatAreReadElsewhereAreRepeated) {
  for (const char* value : {"ke", "kr", "kt", "vr"}) {
    CodeGraph graph(kGrouped + "%z = aten.neg(%" + value + ")\noutput z = %z\n");
    expect_as_reference(graph, kEqual);
  }
}

TEST(RepeatedMatmulPattern, OtherDimensionsExchanged) {
  CodeGraph graph(R"(graph prefill ar=5 cl=24
input %q : u16[1, 4, 4, 4]<0.00003, 31000>
input %k : u16[1, 2, 4, 4]<0.00004, 33000>
%ku = aten.unsqueeze(%k) {dim=2}
%ke = aten.expand(%ku) {sizes=[1, 2, 2, 4, 4]}
%kr = aten.reshape(%ke) {sizes=[1, 4, 4, 4]}
%kt = aten.transpose(%kr) {dim0=1, dim1=2}
%s = aten.matmul(%q, %kt) : u16[1, 4, 4, 4]<0.0003, 30000>
output s = %s
)");
  expect_as_reference(graph, kEqual);
}

TEST(CpuIndexCopy, ReplacesRowsOfACache) {
  CodeGraph graph(R"(graph prefill ar=3 cl=10
input %cache : u16[1, 2, 10, 16]<0.00003, 31000>
input %slots : i64[3]
input %x : u16[1, 3, 32]<0.00003, 31000>
%v = aten.view(%x) {sizes=[1, 3, 2, 16]}
%t = aten.transpose(%v) {dim0=1, dim1=2}
%y = aten.index_copy_(%cache, %slots, %t) {dim=2}
%n = aten.neg(%y)
output y = %y
output n = %n
)");
  for (const std::vector<int64_t>& slots :
       {std::vector<int64_t>{4, 5, 6}, {9, 0, 9}, {-3, 1000000, 2}}) {
    graph.set_input("slots", slots);
    expect_as_reference(graph, kEqual);
  }
  EXPECT_THAT(step_names(graph.graph()), ElementsAre("copy", "copy", "copy", "index_copy", "neg"));
}

/// A layer of 4 heads of 16 in 2 groups as Hugging Face's modeling code has it, hidden size 64.
std::string layer(int64_t rows, int64_t context) {
  return fmt::format(R"(graph decode ar={ar} cl={cl}
input %h : u16[1, {ar}, 64]<0.00003, 32768>
input %cos0 : u16[1, {ar}, 16]<0.00003, 32768>
input %sin0 : u16[1, {ar}, 16]<0.00003, 32768>
input %mask : u16[1, 1, {ar}, {cl}]<0.0038910506, 65535>
input %slots : i64[{ar}]
input %keys : u16[1, 2, {cl}, 16]<0.0001, 32768>
input %values : u16[1, 2, {cl}, 16]<0.00003, 32768>
const %norm : u16[64]<0.00003, 32768>
const %wq : i8[64, 64]<per channel 0>
const %wk : i8[32, 64]<per channel 0>
const %wv : i8[32, 64]<per channel 0>
const %wo : i8[64, 64]<per channel 0>
%x = aten.to(%h) {{dtype=f32}} : u16[1, {ar}, 64]<0.00003, 32768>
%squares = aten.pow(%x) {{exponent=2}} : u16[1, {ar}, 64]<0.000016, 0>
%mean = aten.mean(%squares) {{dim=-1}} : u16[1, {ar}, 1]<0.000008, 0>
%sum = aten.add(%mean) {{other=0.00001}} : u16[1, {ar}, 1]<0.000008, 0>
%scale = aten.rsqrt(%sum) : u16[1, {ar}, 1]<0.0001, 0>
%scaled = aten.mul(%x, %scale) : u16[1, {ar}, 64]<0.00006, 32768>
%n = aten.mul(%norm, %scaled) : u16[1, {ar}, 64]<0.00006, 32768>
%q0 = aten.linear(%n, %wq) : u16[1, {ar}, 64]<0.0004, 32768>
%q1 = aten.view(%q0) {{sizes=[1, {ar}, -1, 16]}}
%q2 = aten.transpose(%q1) {{dim0=1, dim1=2}}
%k0 = aten.linear(%n, %wk) : u16[1, {ar}, 32]<0.0004, 32768>
%k1 = aten.view(%k0) {{sizes=[1, {ar}, -1, 16]}}
%k2 = aten.transpose(%k1) {{dim0=1, dim1=2}}
%v0 = aten.linear(%n, %wv) : u16[1, {ar}, 32]<0.00003, 32768>
%v1 = aten.view(%v0) {{sizes=[1, {ar}, -1, 16]}}
%v = aten.transpose(%v1) {{dim0=1, dim1=2}}
%c = aten.unsqueeze(%cos0) {{dim=1}}
%s = aten.unsqueeze(%sin0) {{dim=1}}
%qcos = aten.mul(%q2, %c) : u16[1, 4, {ar}, 16]<0.0004, 32768>
%qlow = aten.slice(%q2) {{dim=3, start=0, end=8}}
%qhigh = aten.slice(%q2) {{dim=3, start=8, end=9223372036854775807}}
%qneg = aten.neg(%qhigh) : u16[1, 4, {ar}, 8]<0.0004, 32768>
%qrot = aten.cat(%qneg, %qlow) {{dim=-1}}
%qsin = aten.mul(%qrot, %s) : u16[1, 4, {ar}, 16]<0.0004, 32768>
%q = aten.add(%qcos, %qsin) : u16[1, 4, {ar}, 16]<0.0005, 32768>
%kcos = aten.mul(%k2, %c) : u16[1, 2, {ar}, 16]<0.0004, 32768>
%klow = aten.slice(%k2) {{dim=3, start=0, end=8}}
%khigh = aten.slice(%k2) {{dim=3, start=8, end=9223372036854775807}}
%kneg = aten.neg(%khigh) : u16[1, 2, {ar}, 8]<0.0004, 32768>
%krot = aten.cat(%kneg, %klow) {{dim=-1}}
%ksin = aten.mul(%krot, %s) : u16[1, 2, {ar}, 16]<0.0004, 32768>
%k = aten.add(%kcos, %ksin) : u16[1, 2, {ar}, 16]<0.0001, 32768>
%kall = aten.index_copy_(%keys, %slots, %k) {{dim=2}}
%vall = aten.index_copy_(%values, %slots, %v) {{dim=2}}
%ku = aten.unsqueeze(%kall) {{dim=2}}
%ke = aten.expand(%ku) {{sizes=[1, 2, 2, {cl}, 16]}}
%kr = aten.reshape(%ke) {{sizes=[1, 4, {cl}, 16]}}
%vu = aten.unsqueeze(%vall) {{dim=2}}
%ve = aten.expand(%vu) {{sizes=[1, 2, 2, {cl}, 16]}}
%vr = aten.reshape(%ve) {{sizes=[1, 4, {cl}, 16]}}
%kt = aten.transpose(%kr) {{dim0=2, dim1=3}}
%scores = aten.matmul(%q, %kt) : u16[1, 4, {ar}, {cl}]<0.005, 32768>
%divided = aten.mul(%scores) {{other=0.25}} : u16[1, 4, {ar}, {cl}]<0.00125, 32768>
%masked = aten.add(%divided, %mask) : u16[1, 4, {ar}, {cl}]<0.005, 56000>
%weights = aten.softmax(%masked) {{dim=-1}}
%same = aten.to(%weights) {{dtype=f32}} : u16[1, 4, {ar}, {cl}]<0.0000152587890625, 0>
%kept = aten.dropout(%same)
%a0 = aten.matmul(%kept, %vr) : u16[1, 4, {ar}, 16]<0.00003, 32768>
%a1 = aten.transpose(%a0) {{dim0=1, dim1=2}}
%a2 = aten.reshape(%a1) {{sizes=[1, {ar}, -1]}}
%a = aten.linear(%a2, %wo) : u16[1, {ar}, 64]<0.0009, 32768>
%y = aten.add(%x, %a) : u16[1, {ar}, 64]<0.0009, 32768>
output y = %y
output keys = %kall
output values = %vall
)",
                     fmt::arg("ar", rows), fmt::arg("cl", context));
}

TEST(CpuMainline, IsWithinAFewCodesOfTheReference) {
  for (const auto& [rows, context] : {std::pair{1, 40}, {4, 40}, {33, 70}}) {
    CodeGraph graph(layer(rows, context));
    std::vector<int64_t> slots(static_cast<size_t>(rows));
    std::iota(slots.begin(), slots.end(), int64_t{2});
    graph.set_input("slots", slots);
    const Results expected = graph.run_reference();
    const Results found = run_everywhere(graph);
    EXPECT_EQ(found.at("keys"), expected.at("keys"));
    EXPECT_EQ(found.at("values"), expected.at("values"));
    // A probability that is one code off moves a sum of values by one code at most.
    EXPECT_LE(code_difference(graph.graph(), "y", found, expected), kOneCode);
  }
}

TEST(CpuMainline, HasStepsForWhatCosts) {
  CodeGraph graph(layer(4, 40));
  const std::vector<std::string> names = step_names(graph.graph());
  // mean and rsqrt: one number for a token.
  EXPECT_EQ(std::count(names.begin(), names.end(), "reference"), 2);
  EXPECT_EQ(std::count(names.begin(), names.end(), "rope"), 2);
  EXPECT_EQ(std::count(names.begin(), names.end(), "matmul"), 2);
}

}  // namespace
}  // namespace lathe
