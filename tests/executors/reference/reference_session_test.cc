#include <gmock/gmock.h>

#include <vector>

#include "executors/reference/evaluator_session.h"
#include "executors/reference/test_graph.h"
#include "support/error.h"

namespace lathe {
namespace {

using ::testing::ElementsAre;

TEST(ReferenceSession, RunsAnIntegerGraphByNames) {
  TestGraph graph(
      "graph decode ar=1 cl=8\n"
      "input %tokens : i32[1, 1]\n"
      "const %table : u16[3, 2]<0.5, 10>\n"
      "const %head : i8[3, 2]<per channel 0>\n"
      "%embedding = aten.embedding(%table, %tokens) : u16[1, 1, 2]<0.5, 10>\n"
      "%linear = aten.linear(%embedding, %head) : u16[1, 1, 3]<0.5, 100>\n"
      "output hidden = %embedding\n"
      "output logits = %linear\n");
  graph.codes<uint16_t>("table", {10, 11, 12, 13, 14, 15})
      .codes<int8_t>("head", {1, 0, 0, 1, 1, 1});
  ReferenceSession session(graph.share());
  EXPECT_EQ(session.io().inputs.size(), 1u);
  EXPECT_EQ(session.io().find_output("logits")->encoding->zero_point, 100);

  std::vector<int32_t> tokens{1};
  std::vector<uint16_t> logits(3);
  session.bind("tokens", dense_view(DType::i32, {1, 1}, tokens.data()));
  session.bind("logits", dense_view(DType::u16, {1, 1, 3}, logits.data()));
  session.run();
  EXPECT_THAT(logits, ElementsAre(102, 103, 105));
  tokens[0] = 2;
  session.run();
  EXPECT_THAT(logits, ElementsAre(104, 105, 109));
}

TEST(ReferenceSession, RefusesAtOnceWhatItCannotRun) {
  EXPECT_THROW(ReferenceSession(one_node("input %x : i64[2]\n", "aten.silu(%x)").share()), Error);
  ReferenceSession session(one_node("input %x : f32[2]\n", "aten.silu(%x)").share());
  float number = 0.0f;
  EXPECT_THROW(session.bind("z", dense_view(DType::f32, {2}, &number)), Error);
}

}  // namespace
}  // namespace lathe
