#include "executors/cpu/patterns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "executors/cpu/code_graph.h"

// Rotary embedding and the gated activation as one step, and what only looks like them. (Attention
// has a file of its own.)

namespace lathe {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

constexpr int64_t kEqual = 0;
constexpr int64_t kOneCode = 1;

/// %y = x * cos + cat(-x2, x1) * sin of 3 heads, 5 tokens and a head of 8.
const std::string kRope = R"(graph prefill ar=5 cl=8
input %p : u16[1, 5, 24]<0.0001, 31000>
input %cos : u16[1, 1, 5, 8]<0.00003, 32768>
input %sin : u16[1, 1, 5, 8]<0.00003, 32767>
%n = aten.neg(%p) : u16[1, 5, 24]<0.0001, 30000>
%h = aten.view(%n) {sizes=[1, 5, 3, 8]}
%x = aten.transpose(%h) {dim0=1, dim1=2}
%a = aten.slice(%x) {dim=3, start=0, end=4}
%b = aten.slice(%x) {dim=-1, start=4, end=9223372036854775807}
%c = aten.neg(%b) : u16[1, 3, 5, 4]<0.0001, 30000>
%r = aten.cat(%c, %a) {dim=-1}
%xc = aten.mul(%x, %cos)
%rs = aten.mul(%r, %sin)
%y = aten.add(%xc, %rs)
output y = %y
)";

void expect_steps(const std::string& text, const char* pattern, bool matches, int64_t codes) {
  CodeGraph graph(text);
  if (matches) {
    EXPECT_THAT(step_names(graph.graph()), Contains(pattern)) << text;
  } else {
    EXPECT_THAT(step_names(graph.graph()), Not(Contains(pattern))) << text;
  }
  expect_as_reference(graph, codes);
}

void expect_rope(const std::string& text) { expect_steps(text, "rope", true, kEqual); }
void expect_no_rope(const std::string& text) { expect_steps(text, "rope", false, kEqual); }

TEST(RopePattern, IsOneStep) {
  expect_rope(kRope);
  CodeGraph graph(kRope);
  EXPECT_THAT(step_names(graph.graph()),
              ElementsAre("copy", "neg", "copy", "copy", "rope", "copy"));
}

TEST(RopePattern, OneToken) {
  std::string text = kRope;
  for (size_t at = text.find("5, "); at != std::string::npos; at = text.find("5, ", at)) {
    text.replace(at, 1, "1");
  }
  expect_rope(text);
}

TEST(RopePattern, OfAnInputAndOfAConstant) {
  for (const char* kind : {"input", "const"}) {
    std::string text = kRope;
    text = with(text, "%x = aten.transpose(%h) {dim0=1, dim1=2}\n", "");
    expect_rope(
        with(text, "%n = ", std::string(kind) + " %x : u16[1, 3, 5, 8]<0.0001, 30000>\n%n = "));
  }
}

TEST(RopePattern, OfAHeadThatIsNotContiguous) {
  const std::string text = with(kRope, "{sizes=[1, 5, 3, 8]}", "{sizes=[1, 8, 3, 5]}");
  expect_rope(with(text, "%x = aten.transpose(%h) {dim0=1, dim1=2}",
                   "%t = aten.transpose(%h) {dim0=1, dim1=2}\n"
                   "%x = aten.transpose(%t) {dim0=2, dim1=3}"));
}

TEST(RopePattern, ConstantTables) {
  std::string text = with(kRope, "input %cos", "const %cos");
  expect_rope(with(text, "input %sin", "const %sin"));
}

TEST(RopePattern, TheResultMayBeReadAndGivenAtOnce) {
  expect_rope(kRope + "%z = lathe.requantize(%y) : u8[1, 3, 5, 8]<0.02, 128>\n" +
              "%k = aten.transpose(%z) {dim0=2, dim1=3}\noutput k = %k\noutput y2 = %y\n");
}

TEST(RopePattern, AResultInBetweenThatIsReadElsewhere) {
  for (const char* value : {"a", "b", "c", "r", "xc", "rs"}) {
    expect_no_rope(kRope + "output other = %" + value + "\n");
    expect_no_rope(kRope + "%other = aten.neg(%" + value + ")\noutput other = %other\n");
  }
}

TEST(RopePattern, OtherSlices) {
  expect_no_rope(with(kRope, "start=4, end=9223372036854775807", "start=3, end=7"));
  expect_no_rope(with(kRope, "start=0, end=4", "start=1, end=5"));
}

TEST(RopePattern, SlicesOfAnotherTensor) {
  expect_no_rope(with(with(kRope, "%a = aten.slice(%x)", "%a = aten.slice(%w)"),
                      "%n = ", "input %w : u16[1, 3, 5, 8]<0.0001, 30000>\n%n = "));
}

TEST(RopePattern, TablesOfAnotherKind) {
  expect_no_rope(
      with(kRope, "%cos : u16[1, 1, 5, 8]<0.00003, 32768>", "%cos : u8[1, 1, 5, 8]<0.008, 128>"));
  expect_no_rope(with(kRope, "%sin : u16[1, 1, 5, 8]", "%sin : u16[1, 3, 5, 8]"));
  expect_no_rope(with(kRope, "%sin : u16[1, 1, 5, 8]", "%sin : u16[1, 1, 1, 8]"));
  expect_no_rope(with(kRope, "%cos : u16[1, 1, 5, 8]", "%cos : u16[5, 8]"));
}

TEST(RopePattern, HalvesJoinedAlongAnotherDimension) {
  // A head of two: halves of one column, joined to two heads, broadcast to what fits again.
  expect_no_rope(R"(graph prefill ar=5 cl=8
input %x : u16[1, 1, 5, 2]<0.0001, 30000>
input %cos : u16[1, 1, 5, 2]<0.00003, 32768>
input %sin : u16[1, 1, 5, 2]<0.00003, 32767>
%a = aten.slice(%x) {dim=3, start=0, end=1}
%b = aten.slice(%x) {dim=3, start=1, end=2}
%c = aten.neg(%b) : u16[1, 1, 5, 1]<0.0001, 30000>
%r = aten.cat(%c, %a) {dim=1}
%xc = aten.mul(%x, %cos)
%rs = aten.mul(%r, %sin)
%y = aten.add(%xc, %rs)
output y = %y
)");
}

TEST(RopePattern, TablesThatAreResultsInBetween) {
  std::string text = kRope;  // with one head, so that these have the shape of a table
  text = with(text, "[1, 5, 24]<0.0001, 31000>", "[1, 5, 8]<0.0001, 31000>");
  text = with(text, "[1, 5, 24]<0.0001, 30000>", "[1, 5, 8]<0.0001, 30000>");
  text = with(text, "[1, 5, 3, 8]", "[1, 5, 1, 8]");
  text = with(text, "[1, 3, 5, 4]", "[1, 1, 5, 4]");
  expect_no_rope(with(text, "aten.mul(%x, %cos)", "aten.mul(%x, %r)"));
  expect_no_rope(with(text, "aten.mul(%r, %sin)", "aten.mul(%r, %xc)"));
}

TEST(RopePattern, TheOtherOrderOfTheSum) {
  expect_no_rope(with(kRope, "aten.add(%xc, %rs)", "aten.add(%rs, %xc)"));
}

TEST(RopePattern, ASumOfBytes) {
  expect_no_rope(
      with(kRope, "aten.add(%xc, %rs)", "aten.add(%xc, %rs) : u8[1, 3, 5, 8]<0.02, 128>"));
}

/// %y = cat(x1 * cos - x2 * sin, x2 * cos + x1 * sin) of 3 heads, 5 tokens and a head of 8.
const std::string kSplitRope = R"(graph prefill ar=5 cl=8
input %p : u16[1, 5, 24]<0.0001, 31000>
input %cos : u16[1, 1, 5, 4]<0.00003, 32768>
input %sin : u16[1, 1, 5, 4]<0.00003, 32767>
%n = aten.neg(%p) : u16[1, 5, 24]<0.0001, 30000>
%h = aten.view(%n) {sizes=[1, 5, 3, 8]}
%x = aten.transpose(%h) {dim0=1, dim1=2}
%x1 = aten.slice(%x) {dim=3, start=0, end=4}
%x2 = aten.slice(%x) {dim=-1, start=4, end=9223372036854775807}
%a = aten.mul(%x1, %cos)
%b = aten.mul(%x2, %sin)
%lo = aten.sub(%a, %b) : u16[1, 3, 5, 4]<0.0002, 31000>
%c = aten.mul(%x2, %cos)
%d = aten.mul(%x1, %sin)
%hi = aten.add(%c, %d) : u16[1, 3, 5, 4]<0.0002, 31000>
%y = aten.cat(%lo, %hi) {dim=3}
output y = %y
)";

/// The same, with keys of 8 bits.
const std::string kKeyRope = with(kSplitRope, "%y = aten.cat(%lo, %hi)",
                                  "%lo8 = lathe.requantize(%lo) : u8[1, 3, 5, 4]<0.02, 128>\n"
                                  "%hi8 = lathe.requantize(%hi) : u8[1, 3, 5, 4]<0.02, 128>\n"
                                  "%y = aten.cat(%lo8, %hi8)");

TEST(SplitRopePattern, IsOneStep) {
  for (const std::string& text : {kSplitRope, kKeyRope}) {
    expect_rope(text);
    CodeGraph graph(text);
    EXPECT_THAT(step_names(graph.graph()),
                ElementsAre("copy", "neg", "copy", "copy", "rope", "copy"));
  }
}

/// The same where 4 of 8 values of each head rotate.
const std::string kPartRope = R"(graph prefill ar=5 cl=8
input %p : u16[1, 5, 24]<0.0001, 31000>
input %cos : u16[1, 1, 5, 2]<0.00003, 32768>
input %sin : u16[1, 1, 5, 2]<0.00003, 32767>
%n = aten.neg(%p) : u16[1, 5, 24]<0.0001, 30000>
%h = aten.view(%n) {sizes=[1, 5, 3, 8]}
%x = aten.transpose(%h) {dim0=1, dim1=2}
%x1 = aten.slice(%x) {dim=3, start=0, end=2}
%x2 = aten.slice(%x) {dim=3, start=2, end=4}
%x3 = aten.slice(%x) {dim=3, start=4, end=9223372036854775807}
%a = aten.mul(%x1, %cos)
%b = aten.mul(%x2, %sin)
%lo = aten.sub(%a, %b) : u16[1, 3, 5, 2]<0.0001, 30000>
%c = aten.mul(%x2, %cos)
%d = aten.mul(%x1, %sin)
%hi = aten.add(%c, %d) : u16[1, 3, 5, 2]<0.0001, 30000>
%y = aten.cat(%lo, %hi, %x3) {dim=3}
output y = %y
)";
const std::string kPartKeyRope = with(kPartRope, "%y = aten.cat(%lo, %hi, %x3)",
                                      "%lo8 = lathe.requantize(%lo) : u8[1, 3, 5, 2]<0.02, 128>\n"
                                      "%hi8 = lathe.requantize(%hi) : u8[1, 3, 5, 2]<0.02, 128>\n"
                                      "%x8 = lathe.requantize(%x3) : u8[1, 3, 5, 4]<0.02, 128>\n"
                                      "%y = aten.cat(%lo8, %hi8, %x8)");

TEST(SplitRopePattern, APartOfAHeadIsOneStep) {
  for (const std::string& text : {kPartRope, kPartKeyRope}) {
    expect_rope(text);
    CodeGraph graph(text);
    EXPECT_THAT(step_names(graph.graph()),
                ElementsAre("copy", "neg", "copy", "copy", "rope", "copy"));
  }
}

TEST(SplitRopePattern, PartsThatDoNotMakeAHead) {
  expect_no_rope(with(kPartRope, "start=4, end=9223372036854775807", "start=3, end=7"));
  expect_no_rope(with(kPartRope, "aten.cat(%lo, %hi, %x3)", "aten.cat(%lo, %hi, %x1)"));
}

TEST(SplitRopePattern, EverySecondValueIsNoHalf) {
  expect_no_rope(with(kSplitRope, "start=0, end=4", "start=0, end=8, step=2"));
}

TEST(SplitRopePattern, HalvesOfTwoEncodingsMeetInBytes) {
  expect_rope(with(kKeyRope, "%hi = aten.add(%c, %d) : u16[1, 3, 5, 4]<0.0002, 31000>",
                   "%hi = aten.add(%c, %d) : u16[1, 3, 5, 4]<0.0003, 33000>"));
}

TEST(SplitRopePattern, OneToken) {
  for (std::string text : {kSplitRope, kKeyRope}) {
    for (size_t at = text.find("5, "); at != std::string::npos; at = text.find("5, ", at)) {
      text.replace(at, 1, "1");
    }
    expect_rope(text);
    CodeGraph graph(text);
    EXPECT_THAT(step_names(graph.graph()), ElementsAre("neg", "rope"));
  }
}

TEST(SplitRopePattern, TheResultMayBeReadAndGivenAtOnce) {
  expect_rope(kKeyRope +
              "%k = aten.transpose(%y) {dim0=2, dim1=3}\noutput k = %k\noutput y2 = %y\n");
}

TEST(SplitRopePattern, AResultInBetweenThatIsReadElsewhere) {
  for (const char* value : {"x1", "x2", "a", "b", "c", "d", "lo", "hi"}) {
    expect_no_rope(kKeyRope + "output other = %" + value + "\n");
    expect_no_rope(kSplitRope + "%other = aten.neg(%" + value + ")\noutput other = %other\n");
  }
}

TEST(SplitRopePattern, OtherSlices) {
  expect_no_rope(with(kSplitRope, "start=4, end=9223372036854775807", "start=3, end=7"));
  expect_no_rope(with(kSplitRope, "start=0, end=4", "start=1, end=5"));
}

TEST(SplitRopePattern, OperandsThatAreCrossedOtherwise) {
  expect_no_rope(with(kSplitRope, "aten.mul(%x2, %cos)", "aten.mul(%x1, %cos)"));
  expect_no_rope(with(kSplitRope, "aten.mul(%x1, %sin)", "aten.mul(%x1, %cos)"));
  expect_no_rope(with(kSplitRope, "aten.sub(%a, %b)", "aten.sub(%b, %a)"));
  expect_no_rope(with(kSplitRope, "aten.add(%c, %d)", "aten.sub(%c, %d)"));
  expect_no_rope(with(kSplitRope, "aten.cat(%lo, %hi)", "aten.cat(%hi, %lo)"));
}

TEST(SplitRopePattern, TablesOfAnotherKind) {
  expect_no_rope(with(kSplitRope, "%cos : u16[1, 1, 5, 4]<0.00003, 32768>",
                      "%cos : u8[1, 1, 5, 4]<0.008, 128>"));
  expect_no_rope(with(kSplitRope, "%sin : u16[1, 1, 5, 4]", "%sin : u16[1, 3, 5, 4]"));
  expect_no_rope(with(kSplitRope, "%sin : u16[1, 1, 5, 4]", "%sin : u16[1, 1, 1, 4]"));
  expect_no_rope(with(kSplitRope, "%cos : u16[1, 1, 5, 4]", "%cos : u16[5, 4]"));
}

TEST(SplitRopePattern, HalvesThatBecomeBytesInOtherWays) {
  expect_no_rope(with(kKeyRope, "aten.cat(%lo8, %hi8)", "aten.cat(%lo8, %lo8)"));
  expect_no_rope(with(kKeyRope, "%lo = aten.sub(%a, %b) : u16[1, 3, 5, 4]<0.0002, 31000>",
                      "%lo = aten.sub(%a, %b) : u8[1, 3, 5, 4]<0.05, 120>"));
}

// The product's step is no smaller than that of silu times the largest up, so one code of silu is
// at most one code of the product.
const std::string kGated = R"(graph prefill ar=5 cl=8
input %g : u16[1, 5, 30]<0.0004, 30000>
input %u : u16[1, 5, 30]<0.0001, 30000>
%s = aten.silu(%g) : u16[1, 5, 30]<0.0003, 1000>
%y = aten.mul(%s, %u) : u16[1, 5, 30]<0.0012, 32768>
output y = %y
)";

void expect_gated(const std::string& text) { expect_steps(text, "silu_mul", true, kOneCode); }
void expect_not_gated(const std::string& text) { expect_steps(text, "silu_mul", false, kOneCode); }

TEST(GatedPattern, IsOneStep) {
  expect_gated(kGated);
  expect_gated(with(kGated, "input %u", "const %u"));
  expect_gated(with(kGated, "input %g", "const %g"));
  // x^2 * sigmoid(x)
  expect_gated(with(with(kGated, "input %u : u16[1, 5, 30]<0.0001, 30000>\n", ""),
                    "aten.mul(%s, %u) : u16[1, 5, 30]<0.0012, 32768>",
                    "aten.mul(%s, %g) : u16[1, 5, 30]<0.006, 1000>"));
}

TEST(GatedPattern, ByGelu) {
  const auto gelu = [](const std::string& approximate) {
    return with(kGated, "aten.silu(%g)", "aten.gelu(%g) {approximate=" + approximate + "}");
  };
  expect_steps(gelu("tanh"), "gelu_mul", true, kOneCode);
  expect_steps(gelu("none"), "gelu_mul", false, kOneCode);
}

TEST(GatedPattern, TheProductMayBeGivenAndRead) {
  expect_gated(kGated + "%z = aten.neg(%y)\noutput z = %z\noutput again = %y\n");
}

TEST(GatedPattern, SiluThatIsReadElsewhere) {
  expect_not_gated(kGated + "output s = %s\n");
  expect_not_gated(kGated + "%z = aten.neg(%s) : u16[1, 5, 30]<0.0004, 60000>\noutput z = %z\n");
}

TEST(GatedPattern, TheActivationMayComeSecond) {
  expect_gated(with(kGated, "aten.mul(%s, %u)", "aten.mul(%u, %s)"));
}

TEST(GatedPattern, SiluSquared) {
  expect_not_gated(with(kGated, "aten.mul(%s, %u) : u16[1, 5, 30]<0.0012, 32768>",
                        "aten.mul(%s, %s) : u16[1, 5, 30]<0.02, 100>"));
}

TEST(GatedPattern, OtherTypesAndShapes) {
  expect_not_gated(
      with(kGated, "%u : u16[1, 5, 30]<0.0001, 30000>", "%u : u8[1, 5, 30]<0.02, 128>"));
  expect_not_gated(with(kGated, "%u : u16[1, 5, 30]", "%u : u16[1, 1, 30]"));
  expect_not_gated(with(kGated, "%s = aten.silu(%g) : u16[1, 5, 30]<0.0003, 1000>",
                        "%s = aten.silu(%g) : u8[1, 5, 30]<0.08, 4>"));
}

}  // namespace
}  // namespace lathe
