#include "checkpoint/config.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace lathe {
namespace {

using nlohmann::json;
using testing::expect_error;

/// A small Llama.
json small() {
  return {{"model_type", "llama"},    {"vocab_size", 384},      {"hidden_size", 64},
          {"intermediate_size", 160}, {"num_hidden_layers", 3}, {"num_attention_heads", 4},
          {"num_key_value_heads", 2}};
}

json with(const json& changes) {
  json config = small();
  if (!changes.empty()) config.update(changes);
  return config;
}

ModelConfig parse(const json& changes) { return parse_model_config(with(changes), "config.json"); }

void expect_refused(const json& changes, const std::vector<std::string>& parts) {
  SCOPED_TRACE(changes.dump());
  expect_error([&] { parse(changes); }, parts);
}

TEST(Config, FillsInWhatLlamaConfigFillsIn) {
  const ModelConfig config = parse({});
  EXPECT_EQ(config.model_type, "llama");
  EXPECT_EQ(config.head_dim, 16);
  EXPECT_EQ(config.max_position_embeddings, 2048);
  EXPECT_EQ(config.rms_norm_eps, 1e-6);
  EXPECT_EQ(config.rope.kind, RopeConfig::Kind::standard);
  EXPECT_EQ(config.rope.theta, 10000.0);
  EXPECT_FALSE(config.qkv_bias);
  EXPECT_FALSE(config.output_bias);
  EXPECT_FALSE(config.mlp_bias);
  EXPECT_FALSE(config.tie_word_embeddings);
}

TEST(Config, HeadDimIsTakenFromTheConfigWhereGiven) {
  EXPECT_EQ(parse({{"head_dim", 32}}).head_dim, 32);
  EXPECT_EQ(parse({{"head_dim", nullptr}}).head_dim, 16);
}

TEST(Config, WithoutKeyValueHeadsEveryHeadHasItsOwn) {
  EXPECT_EQ(parse({{"num_key_value_heads", nullptr}}).kv_heads, 4);
}

TEST(Config, HonoursBiasAndTying) {
  const ModelConfig config =
      parse({{"attention_bias", true}, {"mlp_bias", true}, {"tie_word_embeddings", true}});
  EXPECT_TRUE(config.qkv_bias);
  EXPECT_TRUE(config.output_bias);
  EXPECT_TRUE(config.mlp_bias);
  EXPECT_TRUE(config.tie_word_embeddings);
}

TEST(Config, FieldsThatChangeNothingAreNoObstacle) {
  parse({{"pretraining_tp", 2},
         {"attention_dropout", 0.1},
         {"torch_dtype", "float16"},
         {"dtype", "bfloat16"},
         {"use_cache", false},
         {"anything_new", {1, 2}}});
}

TEST(Config, RefusesWhatItCannotHonour) {
  expect_refused({{"model_type", "gpt_neox"}},
                 {"config.json: model_type", "expected llama", "gpt_neox"});
  expect_refused({{"model_type", nullptr}}, {"model_type", "missing"});
  expect_refused({{"hidden_act", "relu2"}}, {"config.json: hidden_act", "silu", "relu2"});
  expect_refused({{"quantization_config", {{"quant_method", "gptq"}, {"bits", 4}}}},
                 {"quantization_config", "gptq", "GGUF"});
}

TEST(Config, KnowsActivationsByAllNamesOfTransformers) {
  const auto activation = [](const char* name) { return parse({{"hidden_act", name}}).hidden_act; };
  for (const char* name : {"silu", "swish"}) EXPECT_EQ(activation(name), Activation::silu);
  for (const char* name : {"gelu", "gelu_python"}) EXPECT_EQ(activation(name), Activation::gelu);
  for (const char* name : {"gelu_pytorch_tanh", "gelu_python_tanh", "gelu_new"}) {
    EXPECT_EQ(activation(name), Activation::gelu_tanh);
  }
}

TEST(Config, RefusesImpossibleSizesByField) {
  for (const char* key : {"vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers",
                          "num_attention_heads"}) {
    expect_refused({{key, 0}}, {std::string("config.json: ") + key, "found 0"});
    expect_refused({{key, -4}}, {key, "found -4"});
    expect_refused({{key, 1e18}}, {key, "out of range"});
    expect_refused({{key, "64"}}, {key, "whole number"});
    expect_refused({{key, 64.5}}, {key, "whole number"});
  }
  expect_refused({{"num_key_value_heads", 3}}, {"num_key_value_heads", "divisor of", "found 3"});
  expect_refused({{"head_dim", 15}}, {"head_dim", "even", "found 15"});
  expect_refused({{"hidden_size", 66}}, {"hidden_size", "multiple of num_attention_heads = 4"});
  expect_refused({{"rms_norm_eps", -1.0}}, {"rms_norm_eps"});
  expect_refused({{"rope_theta", 0.0}}, {"rope_theta"});
  expect_refused({{"max_position_embeddings", 0}}, {"max_position_embeddings"});
  expect_refused({{"tie_word_embeddings", "yes"}}, {"tie_word_embeddings", "true or false"});
  expect_error([] { parse_model_config(json::array(), "config.json"); }, {"an object"});
}

}  // namespace
}  // namespace lathe
