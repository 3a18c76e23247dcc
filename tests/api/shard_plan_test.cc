#include "api/shard_plan.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "graph/text.h"
#include "support/expect_error.h"

namespace lathe {
namespace {

using testing::expect_error;

/// Layers of weights [rows, 2000] of one byte each, and an embedding of 40,000,000 bytes.
Graph layers_of(int count, int64_t rows, const char* role) {
  std::string text = "graph " + std::string(role) + R"( ar=1 cl=4
    input %tokens : i32[1, 1]
    const %table : u16[10000, 2000]<0.5, 0>
)";
  const std::string width = std::to_string(rows);
  for (int i = 0; i < count; ++i) {
    text += "const %w" + std::to_string(i) + " : i8[" + width + ", 2000, 1, 1]<per channel 0>\n";
  }
  text += R"(
    %row = aten.embedding(%table, %tokens) : u16[1, 1, 2000]<0.5, 0> @ model.embed_tokens
    %x = aten.reshape(%row) {sizes=[1, 2000, 1, 1]} : u16[1, 2000, 1, 1]<0.5, 0> @ model.layers.0
)";
  std::string from = "x";
  for (int i = 0; i < count; ++i) {
    const std::string layer = std::to_string(i);
    const std::string module = " @ model.layers." + layer + "\n";
    text += "%wide" + layer + " = aten.conv2d(%" + from + ", %w" + layer + ") : u16[1, " + width +
            ", 1, 1]<0.5, 0>" + module;
    text += "%y" + layer + " = aten.slice(%wide" + layer +
            ") {dim=1, start=0, end=2000} : u16[1, 2000, 1, 1]<0.5, 0>" + module;
    from = "y" + layer;
  }
  return parse_graph(text + "output logits = %" + from);
}

/// Three layers of 20,000,000 bytes each.
Graph three_layers(const char* role) { return layers_of(3, 10000, role); }

// Made when first asked for: parsing needs the table of operators, which other files set up.
const Graph& decode_graph() {
  static const Graph graph = three_layers("decode");
  return graph;
}
const Graph& prefill_graph() {
  static const Graph graph = three_layers("prefill");
  return graph;
}

TEST(ContextEstimate, CountsAWeightOfSeveralGraphsOnce) {
  const int64_t weights = 2 * 20'000'000 + 3 * 20'000'000;  // the table as u16, the rest as i8
  EXPECT_EQ(estimate_context({&decode_graph()}).weight_bytes, weights);
  const ContextEstimate both = estimate_context({&decode_graph(), &prefill_graph()});
  EXPECT_EQ(both.weight_bytes, weights);
  EXPECT_EQ(both.bytes, weights + weights / 20 + 5'000'000);
}

TEST(ContextEstimate, IsToldInMegabytes) {
  EXPECT_EQ(describe({.weight_bytes = 135'120'000, .bytes = 146'900'000}),
            "weights 135.1 MB, context about 147 MB of the 2000 MB that a graph may have");
}

TEST(ContextEstimate, MustFit) {
  require_fit({.weight_bytes = 90, .bytes = 100}, 100);
  require_fit({.weight_bytes = 90, .bytes = 2'000'000'000});
  expect_error([] { require_fit({.weight_bytes = 90, .bytes = 101}, 100); },
               {"too large for one context", "at most 100 bytes", "about 101", "--shards",
                "--embedding host"});
}

int planned(int64_t limit, const ShardOptions& least = {}) {
  return plan_shards({&decode_graph(), &prefill_graph()}, least, limit);
}

// A context has its weights, a twentieth of them, and 5 MB.
TEST(ShardPlan, HasAsFewShardsAsTheLimitAllows) {
  EXPECT_EQ(planned(kContextLimit), 1);
  EXPECT_EQ(planned(110'000'000), 1);
  EXPECT_EQ(planned(109'999'999), 2);
}

// Half of the whole is not enough: the table is in the first shard, beside a layer.
TEST(ShardPlan, LooksAtEveryShard) {
  EXPECT_EQ(planned(80'000'000), 3);
  EXPECT_EQ(planned(80'000'000, {.count = 1, .embedding_first = true}), 1);
}

TEST(ShardPlan, HasNoFewerThanAskedFor) {
  EXPECT_EQ(planned(kContextLimit, {.count = 2}), 2);
  EXPECT_EQ(planned(kContextLimit, {.count = 9}), 3);
}

// 8 layers of 282.5 MB and the table of 40: 2.3 GB, of which a context holds less than two.
TEST(ShardPlan, CutsWhatIsTooLargeForAChip) {
  const Graph graph = layers_of(8, 141'250, "decode");
  EXPECT_EQ(estimate_context({&graph}).weight_bytes, 2'300'000'000);
  EXPECT_EQ(plan_shards({&graph}, {}), 2);
  expect_error([&] { require_fit(estimate_context({&graph})); },
               {"too large for one context", "at most 2000000000 bytes", "--shards"});
}

TEST(ShardPlan, EndsAtOneShardForEachLayer) { EXPECT_EQ(planned(1), 3); }

}  // namespace
}  // namespace lathe
