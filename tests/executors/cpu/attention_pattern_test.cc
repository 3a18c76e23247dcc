#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "executors/cpu/code_graph.h"

// Attention as one step, and what only looks like it: a graph with one thing off must take the
// general path and still be right.

namespace lathe {
namespace {

using testing::Contains;
using testing::Not;

constexpr int64_t kEqual = 0;
constexpr int64_t kOneCode = 1;

struct Sizes {
  int64_t kv_heads = 2;   // Hkv
  int64_t groups = 2;     // query heads of a key-value head
  int64_t rows = 4;       // AR
  int64_t context = 24;   // CL
  int64_t head_dim = 16;  // D
};

/// The nodes from past and new keys and values to the result %o, as the passes leave them.
std::string attention(const Sizes& s) {
  const int64_t heads = s.kv_heads * s.groups;
  std::string keys = "kc";
  std::string values = "vc";
  std::string text = fmt::format(
      "graph decode ar={rows} cl={context}\n"
      "input %q : u16[1, {heads}, {rows}, {dim}]<0.0001, 31000>\n"
      "input %kp : u8[1, {kv}, {dim}, {past}]<0.02, 128>\n"
      "input %vp : u8[1, {kv}, {past}, {dim}]<0.03, 128>\n"
      "input %kn : u8[1, {kv}, {dim}, {rows}]<0.02, 128>\n"
      "input %vn : u8[1, {kv}, {rows}, {dim}]<0.03, 128>\n"
      "input %mask : u16[1, 1, {rows}, {context}]<0.0038910506, 65535>\n"
      "%kc = aten.cat(%kp, %kn) {{dim=3}}\n"
      "%vc = aten.cat(%vp, %vn) {{dim=-2}}\n",
      fmt::arg("rows", s.rows), fmt::arg("context", s.context), fmt::arg("heads", heads),
      fmt::arg("dim", s.head_dim), fmt::arg("kv", s.kv_heads),
      fmt::arg("past", s.context - s.rows));
  if (s.groups > 1) {
    text += fmt::format(
        "%ku = aten.unsqueeze(%kc) {{dim=2}}\n"
        "%ke = aten.expand(%ku) {{sizes=[1, {0}, {1}, {2}, {3}]}}\n"
        "%kr = aten.reshape(%ke) {{sizes=[1, {4}, {2}, {3}]}}\n"
        "%vu = aten.unsqueeze(%vc) {{dim=2}}\n"
        "%ve = aten.expand(%vu) {{sizes=[1, {0}, {1}, {3}, {2}]}}\n"
        "%vr = aten.reshape(%ve) {{sizes=[1, {4}, {3}, {2}]}}\n",
        s.kv_heads, s.groups, s.head_dim, s.context, heads);
    keys = "kr";
    values = "vr";
  }
  return text + fmt::format(
                    "%s = aten.matmul(%q, %{}) : u16[1, {}, {}, {}]<0.001, 32768>\n"
                    "%sc = aten.mul(%s) {{other=0.25}} : u16[1, {}, {}, {}]<0.0003, 32768>\n"
                    "%sm = aten.add(%sc, %mask) : u16[1, {}, {}, {}]<0.0045, 61000>\n"
                    "%p = aten.softmax(%sm) {{dim=-1}}\n"
                    "%o = aten.matmul(%p, %{}) : u16[1, {}, {}, {}]<0.0002, 32768>\n"
                    "output o = %o\n",
                    keys, heads, s.rows, s.context, heads, s.rows, s.context, heads, s.rows,
                    s.context, values, heads, s.rows, s.head_dim);
}

void expect_one_step(const std::string& text) {
  CodeGraph graph(text);
  EXPECT_THAT(step_names(graph.graph()), Contains("attention"));
  expect_as_reference(graph, kOneCode);
}

void expect_general_path(const std::string& text) {
  CodeGraph graph(text);
  EXPECT_THAT(step_names(graph.graph()), Not(Contains("attention"))) << text;
  expect_as_reference(graph, kEqual);
}

TEST(AttentionPattern, MatchesForEveryGroupingAndNumberOfTokens) {
  for (const int64_t groups : {1, 2, 3}) {
    for (const int64_t rows : {1, 4, 40}) {
      expect_one_step(attention({.groups = groups, .rows = rows, .context = 57}));
    }
  }
}

/// `text` with its mask as part of the softmax.
std::string with_masked_softmax(std::string text) {
  const size_t sum = text.find("%sm = ");
  text.erase(sum, text.find('\n', sum) + 1 - sum);
  const std::string softmax = "aten.softmax(%sm) {dim=-1}";
  return text.replace(text.find(softmax), softmax.size(),
                      "lathe.masked_softmax(%sc, %mask) {dim=-1, below=20.0}");
}

TEST(AttentionPattern, MatchesWithAMaskedSoftmax) {
  for (const int64_t rows : {1, 4}) {
    expect_one_step(with_masked_softmax(attention({.groups = 3, .rows = rows})));
  }
}

TEST(AttentionPattern, AMaskedSoftmaxUnderAMaskWhoseLowestCodeAttends) {
  std::string text = with_masked_softmax(attention({}));
  const std::string encoding = "<0.0038910506, 65535>";
  text.replace(text.find(encoding), encoding.size(), "<0.0038910506, 0>");
  expect_general_path(text);
}

/// `text` with a soft cap on its scores.
std::string with_softcap(const std::string& text) {
  const std::string shape = " : u16[1, 4, 4, 24]";
  return with(with(text, "aten.add(%sc, %mask)", "aten.add(%cap, %mask)"), "%sm = ",
              "%part = aten.div(%sc) {other=3.0}" + shape + "<0.0001, 32768>\n" +
                  "%curve = aten.tanh(%part)" + shape + "<0.00003, 32768>\n" +
                  "%cap = aten.mul(%curve) {other=3.0}" + shape + "<0.0001, 32768>\n%sm = ");
}

TEST(AttentionPattern, MatchesWithASoftCap) { expect_one_step(with_softcap(attention({}))); }

TEST(AttentionPattern, ASoftCapUnderAMaskedSoftmax) {
  std::string text = with_softcap(attention({}));
  const size_t sum = text.find("%sm = ");
  text.erase(sum, text.find('\n', sum) + 1 - sum);
  expect_one_step(with(text, "aten.softmax(%sm) {dim=-1}",
                       "lathe.masked_softmax(%cap, %mask) {dim=-1, below=20.0}"));
}

TEST(AttentionPattern, ASoftCapWhoseCurveIsReadElsewhere) {
  expect_general_path(with_softcap(attention({})) + "output curve = %curve\n");
}

TEST(AttentionPattern, OneStepGivesTheCodesOfSeveral) {
  for (const std::string& text : {attention({}), with_softcap(attention({}))}) {
    CodeGraph one(text);
    CodeGraph several(text + "output p = %p\n");
    EXPECT_EQ(run_everywhere(one).at("o"), run_everywhere(several).at("o")) << text;
  }
}

TEST(AttentionPattern, MatchesWithAnEmptyPast) {
  expect_one_step(attention({.rows = 9, .context = 9}));
}

TEST(AttentionPattern, MatchesOneHeadAndUnevenSizes) {
  expect_one_step(attention({.kv_heads = 1, .groups = 1, .rows = 1, .context = 2, .head_dim = 1}));
  expect_one_step(
      attention({.kv_heads = 3, .groups = 3, .rows = 11, .context = 131, .head_dim = 7}));
}

TEST(AttentionPattern, MatchesTheLargestHead) {
  expect_one_step(attention({.rows = 2, .context = 5, .head_dim = 256}));
}

TEST(AttentionPattern, AMaskThatHidesAllButTheLastTokens) {
  const Sizes sizes{.rows = 3, .context = 200};
  CodeGraph graph(attention(sizes));
  std::vector<uint16_t> mask(3 * 200, 0);
  for (size_t row = 0; row < 3; ++row) {
    for (size_t c = 0; c < 200; ++c) {
      if (c < 5 || (c >= 197 && c <= 197 + row)) mask[row * 200 + c] = 65535;
    }
  }
  graph.set_input("mask", mask);
  expect_as_reference(graph, kOneCode);
}

TEST(AttentionPattern, TheResultMayBeReadAndGivenAtOnce) {
  expect_one_step(attention({}) +
                  "%t = aten.transpose(%o) {dim0=1, dim1=2}\n"
                  "%f = aten.reshape(%t) {sizes=[1, 4, -1]}\n"
                  "output again = %o\n"
                  "output f = %f\n");
}

TEST(AttentionPattern, InputsMayBeReadElsewhereBeforeAndAfter) {
  const std::string text = with(attention({}), "%kc = ",
                                "%before = aten.neg(%mask)\n"
                                "%keys = aten.transpose(%kp) {dim0=2, dim1=3}\n"
                                "%kc = ");
  expect_one_step(text +
                  "%values = aten.slice(%vp) {dim=2, start=1, end=4}\n"
                  "output before = %before\n"
                  "output keys = %keys\n"
                  "output values = %values\n"
                  "output past = %kp\n");
}

TEST(AttentionPattern, NewKeysAndValuesMayBeSlicesOfMore) {
  const std::string keys = with(
      with(attention({}), "input %kn : u8[1, 2, 16, 4]", "input %kl : u8[3, 2, 16, 4]"), "%kc = ",
      "%kb = lathe.requantize(%kl) : u8[3, 2, 16, 4]<0.02, 128>\n"
      "%kn = aten.slice(%kb) {dim=0, start=1, end=2}\n"
      "%kc = ");
  expect_one_step(keys);
  expect_one_step(with(
      with(attention({}), "input %vn : u8[1, 2, 4, 16]", "const %vl : u8[1, 2, 9, 16]"), "%vc = ",
      "%vn = aten.slice(%vl) {dim=2, start=5, end=9}\n"
      "%vc = "));
}

TEST(AttentionPattern, QueriesMayBeAConstantOrStrided) {
  expect_one_step(with(attention({}), "input %q : u16", "const %q : u16"));
  expect_one_step(
      with(with(attention({}), "input %q : u16[1, 4, 4, 16]", "input %qt : u16[1, 4, 16, 4]"),
           "%kc = ", "%q = aten.transpose(%qt) {dim0=2, dim1=3}\n%kc = "));
}

TEST(AttentionPattern, AResultInBetweenThatIsReadElsewhere) {
  for (const char* value : {"s", "sc", "sm", "p", "kc", "kr", "ve"}) {
    expect_general_path(attention({}) + "output other = %" + value + "\n");
    expect_general_path(attention({}) + "%n = aten.neg(%" + value + ")\noutput other = %n\n");
  }
}

TEST(AttentionPattern, SixteenBitKeys) {
  std::string text = attention({});
  text = with(text, "u8[1, 2, 16, 20]<0.02, 128>", "u16[1, 2, 16, 20]<0.0001, 32768>");
  text = with(text, "u8[1, 2, 16, 4]<0.02, 128>", "u16[1, 2, 16, 4]<0.0001, 32768>");
  expect_general_path(text);
}

TEST(AttentionPattern, KeysWithAnotherZeroPoint) {
  std::string text = attention({});
  text = with(text, "u8[1, 2, 16, 20]<0.02, 128>", "u8[1, 2, 16, 20]<0.02, 127>");
  text = with(text, "u8[1, 2, 16, 4]<0.02, 128>", "u8[1, 2, 16, 4]<0.02, 127>");
  expect_general_path(text);
}

TEST(AttentionPattern, AMaskOfAnotherKind) {
  const std::string mask = "input %mask : u16[1, 1, 4, 24]<0.0038910506, 65535>";
  // one row for all tokens, one column, one per head, bytes, computed, a constant
  expect_general_path(with(attention({}), mask, "input %mask : u16[1, 1, 1, 24]<0.004, 65535>"));
  expect_general_path(with(attention({}), mask, "input %mask : u16[1, 1, 4, 1]<0.004, 65535>"));
  expect_general_path(with(attention({}), mask, "input %mask : u16[1, 4, 4, 24]<0.004, 65535>"));
  expect_general_path(with(attention({}), mask, "input %mask : u16[4, 24]<0.004, 65535>"));
  expect_general_path(with(attention({}), mask, "input %mask : u8[1, 1, 4, 24]<1.0, 255>"));
  expect_general_path(with(attention({}), mask,
                           "input %m : u16[1, 1, 4, 24]<0.0038910506, 65535>\n"
                           "%mask = aten.alias(%m)"));
  expect_general_path(with(attention({}), mask, "const %mask : u16[1, 1, 4, 24]<0.004, 65535>"));
}

TEST(AttentionPattern, AMaskWithMoreRowsThanQueries) {
  std::string text = attention({.rows = 1, .context = 21});
  text = with(text, "input %mask : u16[1, 1, 1, 21]", "input %mask : u16[1, 1, 5, 21]");
  text = with(text, "%sm = aten.add(%sc, %mask) : u16[1, 4, 1, 21]",
              "%sm = aten.add(%sc, %mask) : u16[1, 4, 5, 21]");
  text = with(text, "u16[1, 4, 1, 16]<0.0002, 32768>", "u16[1, 4, 5, 16]<0.0002, 32768>");
  expect_general_path(text);
}

TEST(AttentionPattern, TheMaskFirst) {
  expect_general_path(with(attention({}), "aten.add(%sc, %mask)", "aten.add(%mask, %sc)"));
}

TEST(AttentionPattern, APastThatIsNoInput) {
  expect_general_path(with(with(attention({}), "input %kp :", "input %k :"),
                           "%kc = ", "%kp = aten.alias(%k)\n%kc = "));
}

TEST(AttentionPattern, KeysAndValuesSplitDifferently) {
  std::string text = attention({});
  text = with(text, "%vp : u8[1, 2, 20, 16]", "%vp : u8[1, 2, 19, 16]");
  text = with(text, "%vn : u8[1, 2, 4, 16]", "%vn : u8[1, 2, 5, 16]");
  expect_general_path(text);
}

TEST(AttentionPattern, MoreNewKeysThanQueries) {
  std::string text = attention({});
  text = with(text, "%kp : u8[1, 2, 16, 20]", "%kp : u8[1, 2, 16, 18]");
  text = with(text, "%kn : u8[1, 2, 16, 4]", "%kn : u8[1, 2, 16, 6]");
  text = with(text, "%vp : u8[1, 2, 20, 16]", "%vp : u8[1, 2, 18, 16]");
  text = with(text, "%vn : u8[1, 2, 4, 16]", "%vn : u8[1, 2, 6, 16]");
  expect_general_path(text);
}

TEST(AttentionPattern, KeysConcatenatedAlongTheHead) {
  std::string text = attention({});
  text = with(text, "%kp : u8[1, 2, 16, 20]", "%kp : u8[1, 2, 12, 24]");
  text = with(text, "%kn : u8[1, 2, 16, 4]", "%kn : u8[1, 2, 4, 24]");
  text = with(text, "aten.cat(%kp, %kn) {dim=3}", "aten.cat(%kp, %kn) {dim=2}");
  expect_general_path(text);
}

TEST(AttentionPattern, ValuesOfAnotherWidth) {
  std::string text = attention({.groups = 1});
  text = with(text, "%vp : u8[1, 2, 20, 16]", "%vp : u8[1, 2, 20, 12]");
  text = with(text, "%vn : u8[1, 2, 4, 16]", "%vn : u8[1, 2, 4, 12]");
  text = with(text, "u16[1, 2, 4, 16]<0.0002, 32768>", "u16[1, 2, 4, 12]<0.0002, 32768>");
  expect_general_path(text);
}

TEST(AttentionPattern, HeadsRepeatedInAnotherOrder) {
  // Head h reads key-value head h % 2 in place of h / 2.
  std::string text = attention({});
  text = with(text, "aten.unsqueeze(%kc) {dim=2}", "aten.unsqueeze(%kc) {dim=1}");
  expect_general_path(text);
}

TEST(AttentionPattern, HeadsRepeatedOverAnotherDimensionToo) {
  // One key-value head and one group, expanded to two of each.
  std::string text = attention({.kv_heads = 1, .groups = 4});
  text = with(text, "aten.expand(%ku) {sizes=[1, 1, 4, 16, 24]}",
              "aten.expand(%ku) {sizes=[1, 2, 2, 16, 24]}");
  expect_general_path(text);
}

TEST(AttentionPattern, AHeadLargerThanTheKernelsAdd) {
  expect_general_path(
      attention({.kv_heads = 1, .groups = 1, .rows = 1, .context = 3, .head_dim = 257}));
}

TEST(AttentionPattern, ValuesThatAreTheKeys) {
  // An empty past and as many tokens as a head has elements: new values may be all keys.
  const std::string text = attention({.groups = 1, .rows = 16, .context = 16});
  const std::string values = "%vp : u8[1, 2, 0, 16]<0.03, 128>";
  expect_general_path(with(with(with(text, values, "%vp : u8[1, 2, 0, 16]<0.02, 128>"),
                                "input %vn : u8[1, 2, 16, 16]<0.03, 128>\n", ""),
                           "aten.cat(%vp, %vn)", "aten.cat(%vp, %kc)"));
}

TEST(AttentionPattern, TwoSequences) {
  // Everything that begins with one sequence begins with two.
  std::string text = attention({.groups = 1});
  for (size_t at = text.find("[1, 2, "); at != std::string::npos; at = text.find("[1, 2, ", at)) {
    text.replace(at, 2, "[2");
  }
  expect_general_path(text);
}

TEST(AttentionPattern, TwoInARow) {
  // The result of the first is the query of the second, over the same mask.
  std::string text = attention({});
  const std::string second =
      "input %kp2 : u8[1, 2, 16, 20]<0.02, 128>\n"
      "input %vp2 : u8[1, 2, 20, 16]<0.03, 128>\n"
      "%kc2 = aten.cat(%kp2, %kn) {dim=3}\n"
      "%vc2 = aten.cat(%vp2, %vn) {dim=2}\n"
      "%ku2 = aten.unsqueeze(%kc2) {dim=2}\n"
      "%ke2 = aten.expand(%ku2) {sizes=[1, 2, 2, 16, 24]}\n"
      "%kr2 = aten.reshape(%ke2) {sizes=[1, 4, 16, 24]}\n"
      "%vu2 = aten.unsqueeze(%vc2) {dim=2}\n"
      "%ve2 = aten.expand(%vu2) {sizes=[1, 2, 2, 24, 16]}\n"
      "%vr2 = aten.reshape(%ve2) {sizes=[1, 4, 24, 16]}\n"
      "%s2 = aten.matmul(%o, %kr2) : u16[1, 4, 4, 24]<0.001, 32768>\n"
      "%sc2 = aten.mul(%s2) {other=0.25} : u16[1, 4, 4, 24]<0.0003, 32768>\n"
      "%sm2 = aten.add(%sc2, %mask) : u16[1, 4, 4, 24]<0.0045, 61000>\n"
      "%p2 = aten.softmax(%sm2) {dim=-1}\n"
      "%o2 = aten.matmul(%p2, %vr2) : u16[1, 4, 4, 16]<0.0002, 32768>\n"
      "output o2 = %o2\n";
  CodeGraph graph(text + second);
  const std::vector<std::string> steps = step_names(graph.graph());
  EXPECT_EQ(std::count(steps.begin(), steps.end(), "attention"), 2);
  expect_as_reference(graph, kOneCode);
}

}  // namespace
}  // namespace lathe
