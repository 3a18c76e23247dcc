#include "executors/cpu/fusion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "executors/cpu/code_graph.h"

// Neighbours that become one step, and those that do not. Either way every team and instruction set
// gives the codes that the reference gives.

namespace lathe {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kOneCode = 1;  // norms and silu have float32 inside

/// A graph of one row or of several; there, products are large enough to be split over a team.
std::string rows(std::string text, int64_t count) {
  const std::string any = "ROWS";
  for (size_t at = text.find(any); at != std::string::npos; at = text.find(any)) {
    text.replace(at, any.size(), std::to_string(count));
  }
  return text;
}

template <typename Matcher>
void expect_steps(const std::string& text, const Matcher& steps) {
  for (const int64_t count : {1, 7}) {
    CodeGraph graph(rows(text, count));
    EXPECT_THAT(step_names(graph.graph()), steps) << count << " rows";
    expect_as_reference(graph, kOneCode);
  }
}

const std::string kNorm = R"(graph prefill ar=ROWS cl=8
input %x : u16[ROWS, 192]<0.0001, 31000>
const %gamma : u16[192]<0.00003, 32000>
const %w : i8[200, 192]<per channel 0>
%r = aten.neg(%x) : u16[ROWS, 192]<0.0001, 31000>
%n = lathe.rms_norm(%r, %gamma) {eps=0.00001}
)";

TEST(Fusion, ANormBecomesPartOfTheProductThatReadsIt) {
  expect_steps(kNorm + "%y = aten.linear(%n, %w) : u16[ROWS, 200]<0.001, 32768>\noutput y = %y\n",
               ::testing::Contains("rms_norm+linear"));
}

TEST(Fusion, ANormBecomesPartOfSeveralProductsThatAreOneStep) {
  expect_steps(kNorm +
                   "const %w2 : i8[40, 192]<per channel 0>\n"
                   "%y = aten.linear(%n, %w) : u16[ROWS, 200]<0.001, 32768>\n"
                   "%z = aten.linear(%n, %w2) : u16[ROWS, 40]<0.001, 32768>\n"
                   "%a = aten.neg(%y) : u16[ROWS, 200]<0.001, 32768>\n"
                   "%b = aten.neg(%z) : u16[ROWS, 40]<0.001, 32768>\n"
                   "output a = %a\noutput b = %b\n",
               ::testing::Contains("rms_norm+linear+neg+neg"));
}

TEST(Fusion, ANormThatSomethingElseReadsStaysAStep) {
  const std::string product =
      kNorm + "%y = aten.linear(%n, %w) : u16[ROWS, 200]<0.001, 32768>\noutput y = %y\n";
  expect_steps(product + "output n = %n\n", ::testing::Contains("rms_norm"));
  expect_steps(product + "%m = aten.neg(%n)\noutput m = %m\n", ::testing::Contains("rms_norm"));
}

TEST(Fusion, ANormOfOtherRowsStaysAStep) {
  // The product reads two rows of the norm as one.
  CodeGraph graph(R"(graph prefill ar=4 cl=8
input %x : u16[4, 24]<0.0001, 31000>
const %gamma : u16[24]<0.00003, 32000>
const %w : i8[20, 48]<per channel 0>
%n = lathe.rms_norm(%x, %gamma) {eps=0.00001}
%p = aten.reshape(%n) {sizes=[2, 48]}
%y = aten.linear(%p, %w) : u16[2, 20]<0.001, 32768>
output y = %y
)");
  EXPECT_THAT(step_names(graph.graph()), ElementsAre("copy", "rms_norm", "linear"));
  expect_as_reference(graph, kOneCode);
}

/// Two products of one input, as wide as each other.
const std::string kProducts = R"(graph prefill ar=ROWS cl=8
input %x : u16[ROWS, 192]<0.0001, 31000>
input %t : u16[ROWS, 200]<0.001, 32000>
const %w : i8[200, 192]<per channel 0>
const %v : i8[200, 192]<per channel 0>
%r = aten.neg(%x) : u16[ROWS, 192]<0.0001, 31000>
%s = aten.neg(%t) : u16[ROWS, 200]<0.001, 32000>
%p = aten.linear(%r, %w) : u16[ROWS, 200]<0.001, 32768>
)";

TEST(Fusion, AResidualIsAddedByWhoComputedTheProduct) {
  const std::string sum = "aten.add(%s, %p) : u16[ROWS, 200]<0.0015, 32768>\n";
  expect_steps(kProducts + "%y = " + sum + "output y = %y\n", ::testing::Contains("linear+add"));
  // The product itself may be read, too.
  expect_steps(kProducts + "%y = " + sum + "output y = %y\noutput p = %p\n",
               ::testing::Contains("linear+add"));
}

TEST(Fusion, GateAndUpAreDividedAlike) {
  expect_steps(kProducts +
                   "%q = aten.linear(%r, %v) : u16[ROWS, 200]<0.001, 32768>\n"
                   "%g = aten.silu(%p) : u16[ROWS, 200]<0.0006, 1000>\n"
                   "%y = aten.mul(%g, %q) : u16[ROWS, 200]<0.02, 32768>\n"
                   "output y = %y\n",
               ::testing::Contains("linear+silu_mul"));
}

TEST(Fusion, WhatGoesOnWithAResultMayBeGoneOnWith) {
  expect_steps(kProducts +
                   "%a = aten.add(%p, %s) : u16[ROWS, 200]<0.0015, 32768>\n"
                   "%y = lathe.requantize(%a) : u8[ROWS, 200]<0.4, 128>\n"
                   "output y = %y\n",
               ::testing::Contains("linear+add+requantize"));
}

TEST(Fusion, StepsThatReadNoResultStay) {
  CodeGraph graph(rows(kProducts + "%y = aten.neg(%s)\noutput p = %p\noutput y = %y\n", 7));
  EXPECT_THAT(step_names(graph.graph()), ::testing::Not(::testing::Contains("linear+neg")));
  expect_as_reference(graph, 0);
}

TEST(Fusion, AnotherOrderOfElementsStaysAStep) {
  CodeGraph graph(rows(kProducts +
                           "%u = aten.transpose(%p) {dim0=0, dim1=1}\n"
                           "%v2 = aten.transpose(%s) {dim0=0, dim1=1}\n"
                           "%c = aten.reshape(%v2) {sizes=[200, 7]}\n"
                           "%d = aten.slice(%u) {dim=0, start=100, end=200}\n"
                           "%e = aten.slice(%c) {dim=0, start=100, end=200}\n"
                           "%y = aten.add(%d, %e) : u16[100, 7]<0.0015, 32768>\noutput y = %y\n",
                       7));
  EXPECT_THAT(step_names(graph.graph()), ::testing::Not(::testing::Contains("linear+add")));
  expect_as_reference(graph, 0);
}

TEST(Fusion, ProductsOfOneInputAreOneStepWhateverIsBetweenThem) {
  // As where heads are normalised: the second product comes behind the norm of the first.
  CodeGraph graph(rows(kProducts + "const %gamma : u16[200]<0.00003, 32000>\n"
                                   "%n = lathe.rms_norm(%p, %gamma) {eps=0.00001}\n"
                                   "%q = aten.linear(%r, %v) : u16[ROWS, 200]<0.001, 32768>\n"
                                   "%y = aten.mul(%n, %q) : u16[ROWS, 200]<0.004, 32768>\n"
                                   "output n = %n\noutput y = %y\n",
                       7));
  EXPECT_THAT(step_names(graph.graph()),
              ElementsAre("copy", "neg", "copy", "neg", "linear", "rms_norm+mul"));
  expect_as_reference(graph, kOneCode);
}

TEST(Fusion, WhatGoesOnWithAResultBehindAStepThatHasNothingToDoWithIt) {
  expect_steps(kProducts +
                   "const %gamma : u16[200]<0.00003, 32000>\n"
                   "%q = aten.linear(%r, %v) : u16[ROWS, 200]<0.001, 32768>\n"
                   "%n = lathe.rms_norm(%p, %gamma) {eps=0.00001}\n"
                   "%y = lathe.requantize(%q) : u8[ROWS, 200]<0.3, 128>\n"
                   "output n = %n\noutput y = %y\n",
               testing::IsSupersetOf({"linear+requantize", "rms_norm"}));
}

TEST(Fusion, WhatNeedsAStepInBetweenStays) {
  expect_steps(kProducts +
                   "const %gamma : u16[200]<0.00003, 32000>\n"
                   "%n = lathe.rms_norm(%s, %gamma) {eps=0.00001}\n"
                   "%m = aten.softmax(%n) {dim=-1}\n"
                   "%y = aten.add(%p, %m) : u16[ROWS, 200]<0.001, 32768>\n"
                   "output n = %n\noutput y = %y\n",
               testing::IsSupersetOf({"linear", "rms_norm", "softmax+add"}));
}

const std::string kBehindANorm = R"(graph prefill ar=ROWS cl=8
input %x : u16[ROWS, 24]<0.0001, 31000>
input %t : u16[ROWS, 24]<0.0001, 30000>
const %gamma : u16[24]<0.00003, 32000>
%r = aten.neg(%x) : u16[ROWS, 24]<0.0001, 31000>
%s = aten.neg(%t) : u16[ROWS, 24]<0.0001, 30000>
%n = lathe.rms_norm(%r, %gamma) {eps=0.00001}
)";

TEST(Fusion, AResidualIsAddedToTheRowsOfANorm) {
  expect_steps(
      kBehindANorm + "%y = aten.add(%s, %n) : u16[ROWS, 24]<0.0002, 32768>\noutput y = %y\n",
      testing::Contains("rms_norm+add"));
}

/// Query heads as they come from a projection, normalised one by one and rotated.
std::string normalised_heads(int64_t tokens) {
  return rows(R"(graph prefill ar=ROWS cl=8
input %h : u16[1, ROWS, 24]<0.0001, 31000>
const %gamma : u16[8]<0.00003, 32000>
const %cos : u16[1, 1, ROWS, 4]<0.00003, 32768>
const %sin : u16[1, 1, ROWS, 4]<0.00003, 32768>
%p = aten.neg(%h) : u16[1, ROWS, 24]<0.0001, 31000>
%w = aten.reshape(%p) {sizes=[1, ROWS, 3, 8]}
%t = aten.transpose(%w) {dim0=1, dim1=2}
%x = lathe.rms_norm(%t, %gamma) {eps=0.00001} : u16[1, 3, ROWS, 8]<0.0001, 32768>
%a = aten.slice(%x) {dim=3, start=0, end=4}
%b = aten.slice(%x) {dim=3, start=4, end=8}
%m = aten.mul(%a, %cos) : u16[1, 3, ROWS, 4]<0.0001, 32768>
%n = aten.mul(%b, %sin) : u16[1, 3, ROWS, 4]<0.0001, 32768>
%lo = aten.sub(%m, %n) : u16[1, 3, ROWS, 4]<0.0002, 32768>
%q = aten.mul(%b, %cos) : u16[1, 3, ROWS, 4]<0.0001, 32768>
%r = aten.mul(%a, %sin) : u16[1, 3, ROWS, 4]<0.0001, 32768>
%hi = aten.add(%q, %r) : u16[1, 3, ROWS, 4]<0.0002, 32768>
%y = aten.cat(%lo, %hi) {dim=3}
%z = aten.neg(%y)
output z = %z
)",
              tokens);
}

TEST(Fusion, HeadsAreRotatedByWhoNormalisedThem) {
  for (const int64_t tokens : {1, 5, 900}) {
    CodeGraph graph(normalised_heads(tokens));
    EXPECT_THAT(step_names(graph.graph()), testing::Contains("rms_norm+rope+neg")) << tokens;
    expect_as_reference(graph, kOneCode);
  }
}

TEST(Fusion, HeadsThatLieOtherwiseAreRotatedInAStepOfTheirOwn) {
  // A head at a time: the rows of a token are far from each other.
  CodeGraph graph(with(with(normalised_heads(5), "{sizes=[1, 5, 3, 8]}", "{sizes=[1, 3, 5, 8]}"),
                       "%t = aten.transpose(%w) {dim0=1, dim1=2}",
                       "%t = aten.reshape(%w) {sizes=[1, 3, 5, 8]}"));
  EXPECT_THAT(step_names(graph.graph()), testing::IsSupersetOf({"rms_norm", "rope"}));
  expect_as_reference(graph, kOneCode);
}

}  // namespace
}  // namespace lathe
