#include "checkpoint/families/rope_fields.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "support/expect_error.h"

namespace lathe {
namespace {

using nlohmann::json;
using testing::expect_error;

/// A Llama with heads of 16 values and 2048 positions.
ModelConfig parse(const json& changes) {
  json config = {{"model_type", "llama"}, {"hidden_size", 64}, {"num_attention_heads", 4}};
  config.update(changes);
  return parse_model_config(config, "config.json");
}

void expect_refused(const json& changes, const std::vector<std::string>& parts) {
  SCOPED_TRACE(changes.dump());
  expect_error([&] { parse(changes); }, parts);
}

TEST(RopeFields, TakeBothSpellings) {
  const json llama3 = {{"factor", 32.0},
                       {"low_freq_factor", 1.0},
                       {"high_freq_factor", 4.0},
                       {"original_max_position_embeddings", 8192}};
  json version4 = llama3;
  version4["type"] = "llama3";
  json version5 = llama3;
  version5["rope_type"] = "llama3";
  version5["rope_theta"] = 500000.0;
  for (const json& changes : {json{{"rope_theta", 500000.0}, {"rope_scaling", version4}},
                              json{{"rope_parameters", version5}}}) {
    const RopeConfig rope = parse(changes).rope;
    EXPECT_EQ(rope.kind, RopeConfig::Kind::llama3);
    EXPECT_EQ(rope.theta, 500000.0);
    EXPECT_EQ(rope.factor, 32.0);
    EXPECT_EQ(rope.low_freq_factor, 1.0);
    EXPECT_EQ(rope.high_freq_factor, 4.0);
    EXPECT_EQ(rope.original_max_position_embeddings, 8192);
  }
}

TEST(RopeFields, TakePlainAndLinearScaling) {
  EXPECT_EQ(parse({{"rope_scaling", nullptr}, {"rope_theta", 1e6}}).rope.theta, 1e6);
  EXPECT_EQ(
      parse({{"rope_parameters", {{"rope_type", "default"}, {"rope_theta", 5e4}}}}).rope.theta,
      5e4);
  const RopeConfig linear = parse({{"rope_scaling", {{"type", "linear"}, {"factor", 2.5}}}}).rope;
  EXPECT_EQ(linear.kind, RopeConfig::Kind::linear);
  EXPECT_EQ(linear.factor, 2.5);
}

TEST(RopeFields, GiveTheOlderSpellingPrecedenceUnlessItIsEmpty) {
  const json settings = {{"rope_type", "linear"}, {"factor", 2.0}};
  json both = {{"rope_parameters", settings}, {"rope_scaling", json::object()}};
  EXPECT_EQ(parse(both).rope.factor, 2.0);
  both["rope_scaling"] = {{"type", "linear"}, {"factor", 3.0}};
  EXPECT_EQ(parse(both).rope.factor, 3.0);
}

TEST(RopeFields, StretchFromTheLengthThatIsStated) {
  const json llama3 = {{"rope_type", "llama3"},
                       {"factor", 8.0},
                       {"low_freq_factor", 1.0},
                       {"high_freq_factor", 4.0}};
  json config = {{"rope_scaling", llama3}, {"max_position_embeddings", 1000}};
  EXPECT_EQ(parse(config).rope.original_max_position_embeddings, 1000);
  config["rope_scaling"]["original_max_position_embeddings"] = 500;
  EXPECT_EQ(parse(config).rope.original_max_position_embeddings, 500);
  // transformers gives the field outside of the settings precedence.
  config["original_max_position_embeddings"] = 250;
  EXPECT_EQ(parse(config).rope.original_max_position_embeddings, 250);
}

TEST(RopeFields, TakeDynamicScaling) {
  const RopeConfig rope = parse({{"rope_scaling", {{"type", "dynamic"}, {"factor", 4.0}}},
                                 {"max_position_embeddings", 1000}})
                              .rope;
  EXPECT_EQ(rope.kind, RopeConfig::Kind::dynamic);
  EXPECT_EQ(rope.factor, 4.0);
  EXPECT_EQ(rope.original_max_position_embeddings, 1000);
}

// Formula of transformers, _compute_yarn_parameters: cos and sin grow by 0.1 mscale ln(factor) + 1.
TEST(RopeFields, TakeYarn) {
  json yarn = {{"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 32768}};
  const auto rope = [&] { return parse({{"rope_scaling", yarn}}).rope; };
  EXPECT_EQ(rope().kind, RopeConfig::Kind::yarn);
  EXPECT_EQ(rope().original_max_position_embeddings, 32768);
  EXPECT_EQ(rope().beta_fast, 32.0);
  EXPECT_EQ(rope().beta_slow, 1.0);
  EXPECT_TRUE(rope().truncate);
  EXPECT_DOUBLE_EQ(rope().attention_factor, 0.1 * std::log(4.0) + 1.0);
  yarn.update({{"mscale", 2.0}, {"mscale_all_dim", 0.5}});
  EXPECT_DOUBLE_EQ(rope().attention_factor,
                   (0.2 * std::log(4.0) + 1.0) / (0.05 * std::log(4.0) + 1.0));
  yarn.update(
      {{"attention_factor", 1.5}, {"beta_fast", 16}, {"beta_slow", 2}, {"truncate", false}});
  EXPECT_EQ(rope().attention_factor, 1.5);
  EXPECT_EQ(rope().beta_fast, 16.0);
  EXPECT_EQ(rope().beta_slow, 2.0);
  EXPECT_FALSE(rope().truncate);
}

TEST(RopeFields, TakeLongrope) {
  const std::vector<double> factors(8, 2.0);
  json longrope = {{"rope_type", "longrope"},
                   {"short_factor", factors},
                   {"long_factor", factors},
                   {"original_max_position_embeddings", 256}};
  const auto rope = [&] { return parse({{"rope_scaling", longrope}}).rope; };
  EXPECT_EQ(rope().kind, RopeConfig::Kind::longrope);
  EXPECT_EQ(rope().factor, 8.0);  // 2048 / 256
  EXPECT_DOUBLE_EQ(rope().attention_factor, std::sqrt(1.0 + std::log(8.0) / std::log(256.0)));
  longrope["factor"] = 1.0;
  EXPECT_EQ(rope().attention_factor, 1.0);
  longrope["attention_factor"] = 1.25;
  EXPECT_EQ(rope().attention_factor, 1.25);
}

TEST(RopeFields, RefuseWhatIsNotTheirs) {
  for (const char* type : {"su", "proportional", "mrope", "anything"}) {
    expect_refused({{"rope_scaling", {{"rope_type", type}, {"factor", 2.0}}}},
                   {"config.json: rope_scaling: rope_type",
                    "default, linear, dynamic, llama3, yarn, longrope", type});
    expect_refused({{"rope_parameters", {{"type", type}}}}, {"rope_parameters: type", type});
  }
  for (const char* type : {"linear", "dynamic", "yarn", "llama3"}) {
    expect_refused({{"rope_scaling", {{"type", type}}}}, {"rope_scaling: factor", "missing"});
  }
  expect_refused({{"rope_scaling", {{"rope_type", "llama3"}, {"factor", 8}}}},
                 {"low_freq_factor", "missing"});
  expect_refused({{"rope_scaling",
                   {{"rope_type", "llama3"},
                    {"factor", 8},
                    {"low_freq_factor", 4},
                    {"high_freq_factor", 4},
                    {"original_max_position_embeddings", 8192}}}},
                 {"high_freq_factor", "more than low_freq_factor"});
  expect_refused({{"rope_scaling", {{"rope_type", "longrope"}, {"short_factor", 1.0}}}},
                 {"rope_scaling: short_factor", "a list"});
  expect_refused({{"rope_scaling", {{"rope_type", "longrope"}, {"short_factor", {"x"}}}}},
                 {"rope_scaling: short_factor", "a number"});
  expect_refused({{"partial_rotary_factor", 0.5}}, {"config.json: partial_rotary_factor", "0.5"});
  expect_refused({{"rope_parameters", {{"partial_rotary_factor", 0.5}}}},
                 {"rope_parameters: partial_rotary_factor", "0.5"});
  expect_refused({{"rope_scaling", "linear"}}, {"rope_scaling", "an object"});
}

}  // namespace
}  // namespace lathe
