#include "checkpoint/families/family.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "checkpoint/expected_tensors.h"
#include "support/expect_error.h"
#include "support/test_files.h"

namespace lathe {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using testing::expect_error;

ModelConfig parse(const json& config) { return parse_model_config(config, "config.json"); }

/// A config that says only which family it is of: sizes and settings are its class's.
ModelConfig defaults(const char* model_type, json changes = json::object()) {
  changes["model_type"] = model_type;
  return parse(changes);
}

void expect_refused(const char* model_type, json changes, const std::vector<std::string>& parts) {
  SCOPED_TRACE(changes.dump());
  expect_error([&] { defaults(model_type, changes); }, parts);
}

/// config.json of a tiny checkpoint with golden values (tests/data/tiny/NAME).
ModelConfig tiny(const std::string& name) {
  return parse(json::parse(
      testing::read_bytes(std::string(LATHE_TEST_DATA "/tiny/") + name + "/config.json")));
}

std::map<std::string, Shape> tensors_of(const ModelConfig& config) {
  std::map<std::string, Shape> shapes;
  for (const TensorInfo& tensor : expected_tensors(config)) shapes[tensor.name] = tensor.shape;
  return shapes;
}

/// "SF" for two layers of which the first slides.
std::string sliding_pattern(const ModelConfig& config) {
  std::string pattern;
  for (const LayerConfig& layer : config.layer_configs) pattern += layer.sliding ? 'S' : 'F';
  return pattern;
}

/// "R-" for two layers of which the second does not rotate.
std::string rotary_pattern(const ModelConfig& config) {
  std::string pattern;
  for (const LayerConfig& layer : config.layer_configs) pattern += layer.rotary ? 'R' : '-';
  return pattern;
}

// The numbers are those of the configuration classes of transformers 5.
TEST(Families, TakeTheirOwnDefaults) {
  struct Row {
    const char* model_type;
    int64_t vocab_size, layers, kv_heads, head_dim, positions;
    double epsilon, theta;
    bool tied;
  };
  for (const Row& row : {Row{"llama", 32000, 32, 32, 128, 2048, 1e-6, 1e4, false},
                         {"mistral", 32000, 32, 8, 128, 131072, 1e-6, 1e4, false},
                         {"qwen2", 151936, 32, 32, 128, 32768, 1e-6, 1e4, false},
                         {"qwen3", 151936, 32, 32, 128, 32768, 1e-6, 1e4, false},
                         {"smollm3", 128256, 36, 4, 128, 32768, 1e-6, 2e6, true},
                         {"granite", 32000, 32, 32, 128, 2048, 1e-6, 1e4, false},
                         {"gemma", 256000, 28, 16, 256, 8192, 1e-6, 1e4, true},
                         {"gemma2", 256000, 26, 4, 256, 8192, 1e-6, 1e4, true},
                         {"gemma3_text", 262208, 26, 4, 256, 131072, 1e-6, 1e6, true},
                         {"phi3", 32064, 32, 32, 96, 4096, 1e-5, 1e4, false},
                         {"olmo2", 50304, 32, 32, 128, 2048, 1e-5, 1e4, false},
                         {"glm", 151552, 40, 2, 128, 131072, 1.5625e-7, 1e4, false}}) {
    SCOPED_TRACE(row.model_type);
    const ModelConfig config = defaults(row.model_type);
    EXPECT_EQ(config.model_type, row.model_type);
    EXPECT_EQ(config.vocab_size, row.vocab_size);
    EXPECT_EQ(config.layers, row.layers);
    EXPECT_EQ(config.layer_configs.size(), static_cast<size_t>(row.layers));
    EXPECT_EQ(config.kv_heads, row.kv_heads);
    EXPECT_EQ(config.head_dim, row.head_dim);
    EXPECT_EQ(config.max_position_embeddings, row.positions);
    EXPECT_EQ(config.rms_norm_eps, row.epsilon);
    EXPECT_EQ(config.rope.theta, row.theta);
    EXPECT_EQ(config.tie_word_embeddings, row.tied);
  }
  EXPECT_EQ(families().size(), 12u);
}

TEST(Families, AreReadOutOfTheirTinyCheckpoints) {
  for (const char* name : {"gemma2", "gemma3", "granite", "llama", "mistral", "olmo2", "phi3",
                           "phi3_longrope", "qwen2", "qwen3", "smollm3"}) {
    SCOPED_TRACE(name);
    const ModelConfig config = tiny(name);
    EXPECT_EQ(config.hidden_size, 64);
    EXPECT_EQ(config.vocab_size, 384);
  }
}

// head_dim apart from hidden_size / heads, as in Qwen3-0.6B and Qwen3-4B.
TEST(Families, AnExplicitHeadSizeShapesTheProjections) {
  json config = {{"model_type", "qwen3"},     {"hidden_size", 1024},      {"num_hidden_layers", 1},
                 {"num_attention_heads", 16}, {"num_key_value_heads", 8}, {"head_dim", 128}};
  auto tensors = tensors_of(parse(config));
  EXPECT_EQ(tensors["model.layers.0.self_attn.q_proj.weight"], (Shape{2048, 1024}));
  EXPECT_EQ(tensors["model.layers.0.self_attn.k_proj.weight"], (Shape{1024, 1024}));
  EXPECT_EQ(tensors["model.layers.0.self_attn.o_proj.weight"], (Shape{1024, 2048}));
  EXPECT_EQ(tensors["model.layers.0.self_attn.q_norm.weight"], (Shape{128}));
  EXPECT_EQ(tensors["model.layers.0.self_attn.k_norm.weight"], (Shape{128}));
  config.update({{"hidden_size", 2560}, {"num_attention_heads", 32}});
  tensors = tensors_of(parse(config));
  EXPECT_EQ(tensors["model.layers.0.self_attn.q_proj.weight"], (Shape{4096, 2560}));
  EXPECT_EQ(tensors["model.layers.0.self_attn.o_proj.weight"], (Shape{2560, 4096}));
  config["head_dim"] = nullptr;
  EXPECT_EQ(parse(config).head_dim, 80);
  config.erase("head_dim");
  EXPECT_EQ(parse(config).head_dim, 128);
}

TEST(Families, HaveTheTensorsOfTheirModelingCode) {
  const auto names = [](const ModelConfig& config) {
    std::string joined;
    const std::string prefix = "model.layers.1.";
    for (const auto& [name, shape] : tensors_of(config)) {
      if (name.starts_with(prefix)) {
        joined += name.substr(prefix.size()) + to_string(shape) + ' ';
      }
    }
    return joined;
  };
  EXPECT_EQ(names(tiny("qwen2")),
            "input_layernorm.weight[64] mlp.down_proj.weight[64, 160] "
            "mlp.gate_proj.weight[160, 64] mlp.up_proj.weight[160, 64] "
            "post_attention_layernorm.weight[64] self_attn.k_proj.bias[32] "
            "self_attn.k_proj.weight[32, 64] self_attn.o_proj.weight[64, 64] "
            "self_attn.q_proj.bias[64] self_attn.q_proj.weight[64, 64] self_attn.v_proj.bias[32] "
            "self_attn.v_proj.weight[32, 64] ");
  EXPECT_EQ(names(tiny("gemma3")),
            "input_layernorm.weight[64] mlp.down_proj.weight[64, 160] "
            "mlp.gate_proj.weight[160, 64] mlp.up_proj.weight[160, 64] "
            "post_attention_layernorm.weight[64] post_feedforward_layernorm.weight[64] "
            "pre_feedforward_layernorm.weight[64] self_attn.k_norm.weight[32] "
            "self_attn.k_proj.weight[64, 64] self_attn.o_proj.weight[64, 128] "
            "self_attn.q_norm.weight[32] self_attn.q_proj.weight[128, 64] "
            "self_attn.v_proj.weight[64, 64] ");
  EXPECT_EQ(names(tiny("phi3_longrope")),
            "input_layernorm.weight[64] mlp.down_proj.weight[64, 160] "
            "mlp.gate_up_proj.weight[320, 64] post_attention_layernorm.weight[64] "
            "self_attn.o_proj.weight[64, 64] self_attn.qkv_proj.weight[128, 64] ");
  EXPECT_EQ(names(tiny("olmo2")),
            "mlp.down_proj.weight[64, 160] mlp.gate_proj.weight[160, 64] "
            "mlp.up_proj.weight[160, 64] post_attention_layernorm.weight[64] "
            "post_feedforward_layernorm.weight[64] self_attn.k_norm.weight[32] "
            "self_attn.k_proj.weight[32, 64] self_attn.o_proj.weight[64, 64] "
            "self_attn.q_norm.weight[64] self_attn.q_proj.weight[64, 64] "
            "self_attn.v_proj.weight[32, 64] ");
  const ModelConfig glm = defaults("glm", {{"hidden_size", 64},
                                           {"intermediate_size", 160},
                                           {"num_attention_heads", 4},
                                           {"head_dim", 16}});
  EXPECT_EQ(names(glm),
            "input_layernorm.weight[64] mlp.down_proj.weight[64, 160] "
            "mlp.gate_up_proj.weight[320, 64] post_attention_layernorm.weight[64] "
            "self_attn.k_proj.bias[32] self_attn.k_proj.weight[32, 64] "
            "self_attn.o_proj.weight[64, 64] self_attn.q_proj.bias[64] "
            "self_attn.q_proj.weight[64, 64] self_attn.v_proj.bias[32] "
            "self_attn.v_proj.weight[32, 64] ");
}

TEST(Families, HaveBiasesWhereTheirModelingCodeHas) {
  const auto biases = [](const ModelConfig& config) {
    return std::string(config.qkv_bias ? "qkv " : "") + (config.output_bias ? "o " : "") +
           (config.mlp_bias ? "mlp" : "");
  };
  const json all = {{"attention_bias", true}, {"mlp_bias", true}};
  EXPECT_EQ(biases(defaults("llama", all)), "qkv o mlp");
  EXPECT_EQ(biases(defaults("granite", all)), "qkv o mlp");
  EXPECT_EQ(biases(defaults("smollm3", all)), "qkv o mlp");
  EXPECT_EQ(biases(defaults("qwen3", all)), "qkv o ");
  EXPECT_EQ(biases(defaults("olmo2", all)), "qkv o ");
  for (const char* gemma : {"gemma", "gemma2", "gemma3_text"}) {
    EXPECT_EQ(biases(defaults(gemma, all)), "qkv o ");
  }
  EXPECT_EQ(biases(defaults("qwen2", {{"attention_bias", false}})), "qkv ");
  EXPECT_EQ(biases(defaults("glm")), "qkv ");
  EXPECT_EQ(biases(defaults("glm", {{"attention_bias", false}})), "");
  EXPECT_EQ(biases(defaults("mistral")), "");
  EXPECT_EQ(biases(defaults("phi3")), "");
}

TEST(Mistral, SlidesInAllLayersOrNone) {
  EXPECT_EQ(sliding_pattern(tiny("mistral")), "SS");
  EXPECT_EQ(tiny("mistral").sliding_window, 16);
  EXPECT_EQ(defaults("mistral").sliding_window, 4096);
  const ModelConfig full = defaults("mistral", {{"sliding_window", nullptr}});
  EXPECT_EQ(full.sliding_window, 0);
  EXPECT_FALSE(full.layer_configs[0].sliding);
}

TEST(Qwen, SlidesOnlyWhereItIsToldTo) {
  const json layers = {{"num_hidden_layers", 4}, {"max_window_layers", 2}};
  json used = layers;
  used["use_sliding_window"] = true;
  for (const char* family : {"qwen2", "qwen3"}) {
    EXPECT_EQ(sliding_pattern(defaults(family, layers)), "FFFF");
    EXPECT_EQ(defaults(family, layers).sliding_window, 0);
    EXPECT_EQ(sliding_pattern(defaults(family, used)), "FFSS");
    EXPECT_EQ(defaults(family, used).sliding_window, 4096);
    json types = used;
    types["layer_types"] = {"sliding_attention", "full_attention", "full_attention",
                            "full_attention"};
    types["sliding_window"] = 100;
    EXPECT_EQ(sliding_pattern(defaults(family, types)), "SFFF");
    EXPECT_EQ(defaults(family, types).sliding_window, 100);
    types["use_sliding_window"] = false;
    expect_refused(family, types, {"config.json: sliding_window", "no window"});
  }
}

TEST(Smollm3, LeavesLayersWithoutRotation) {
  EXPECT_EQ(rotary_pattern(tiny("smollm3")), "R-R");
  const json eight = {{"num_hidden_layers", 8}};
  EXPECT_EQ(rotary_pattern(defaults("smollm3", eight)), "RRR-RRR-");
  json config = eight;
  config["no_rope_layer_interval"] = 3;
  EXPECT_EQ(rotary_pattern(defaults("smollm3", config)), "RR-RR-RR");
  config.update({{"use_sliding_window", true}, {"sliding_window", 64}});
  EXPECT_EQ(sliding_pattern(defaults("smollm3", config)), "FFSFFSFF");
  config["no_rope_layers"] = {1, 1};
  expect_refused("smollm3", config, {"no_rope_layers", "at least 8", "found 2"});
  config["no_rope_layers"] = {1, 1, 2, 1, 1, 1, 1, 1};
  expect_refused("smollm3", config, {"no_rope_layers", "found 2"});
}

TEST(Granite, HasFourMultipliers) {
  const json multipliers = {{"embedding_multiplier", 12},
                            {"attention_multiplier", 0.015625},
                            {"residual_multiplier", 0.22},
                            {"logits_scaling", 8}};
  const ModelConfig config = defaults("granite", multipliers);
  EXPECT_EQ(config.embedding_multiplier, 12.0);
  EXPECT_EQ(config.attention_scale, 0.015625);
  EXPECT_EQ(config.residual_multiplier, 0.22);
  EXPECT_EQ(config.logits_scaling, 8.0);
  EXPECT_EQ(defaults("granite").attention_scale, 1.0);
  // With neutral multipliers it is a Llama.
  const ModelConfig neutral = defaults("granite", {{"attention_multiplier", 1 / std::sqrt(128.0)}});
  EXPECT_EQ(neutral.attention_scale, defaults("llama").attention_scale);
  EXPECT_EQ(neutral.embedding_multiplier, defaults("llama").embedding_multiplier);
  EXPECT_EQ(neutral.residual_multiplier, defaults("llama").residual_multiplier);
  EXPECT_EQ(neutral.logits_scaling, defaults("llama").logits_scaling);
  expect_refused("granite", {{"logits_scaling", 0}}, {"config.json: logits_scaling", "found 0"});
  expect_refused("granite", {{"residual_multiplier", "x"}}, {"residual_multiplier", "a number"});
}

TEST(Gemma, MeansTheTanhApproximationWhereItSaysGelu) {
  for (const char* name : {"gelu", "gelu_pytorch_tanh"}) {
    EXPECT_EQ(defaults("gemma", {{"hidden_act", name}}).hidden_act, Activation::gelu_tanh);
  }
  EXPECT_EQ(defaults("gemma", {{"hidden_act", "gelu"}, {"hidden_activation", "gelu_pytorch_tanh"}})
                .hidden_act,
            Activation::gelu_tanh);
  expect_refused("gemma", {{"hidden_activation", "silu"}},
                 {"config.json: hidden_activation", "silu"});
  const ModelConfig gemma = defaults("gemma", {{"hidden_size", 2048}});
  EXPECT_EQ(gemma.embedding_multiplier, std::sqrt(2048.0));
  EXPECT_TRUE(gemma.norm_adds_one);
  EXPECT_EQ(gemma.attention_scale, 1.0 / 16.0);
}

TEST(Gemma2, HasSoftCapsAndEveryOtherLayerSlides) {
  const ModelConfig config = tiny("gemma2");
  EXPECT_EQ(sliding_pattern(config), "SFS");
  EXPECT_EQ(config.sliding_window, 8);
  EXPECT_EQ(config.attention_softcap, 5.0);
  EXPECT_EQ(config.final_softcap, 6.0);
  EXPECT_EQ(config.attention_scale, 1.0 / std::sqrt(24.0));
  EXPECT_EQ(config.hidden_act, Activation::gelu_tanh);
  EXPECT_EQ(config.embedding_multiplier, 8.0);
  EXPECT_TRUE(config.norm_adds_one);
  EXPECT_EQ(config.local_rope, std::nullopt);
  EXPECT_EQ(defaults("gemma2").attention_softcap, 50.0);
  EXPECT_EQ(defaults("gemma2").final_softcap, 30.0);
  EXPECT_EQ(defaults("gemma2", {{"attn_logit_softcapping", nullptr}}).attention_softcap,
            std::nullopt);
  // The erf form is another function, and hidden_act is not what this family reads.
  EXPECT_EQ(defaults("gemma2", {{"hidden_activation", "gelu"}}).hidden_act, Activation::gelu);
  EXPECT_EQ(defaults("gemma2", {{"hidden_act", "silu"}}).hidden_act, Activation::gelu_tanh);
  expect_refused("gemma2", {{"sliding_window", nullptr}}, {"config.json: sliding_window"});
  for (const char* family : {"gemma", "gemma2", "gemma3_text"}) {
    expect_refused(family, {{"use_bidirectional_attention", true}},
                   {"config.json: use_bidirectional_attention", "found true"});
  }
}

TEST(Gemma3, RotatesSlidingLayersByAnotherBase) {
  const ModelConfig config = tiny("gemma3");
  EXPECT_EQ(sliding_pattern(config), "SSF");
  EXPECT_EQ(config.sliding_window, 8);
  EXPECT_EQ(config.qk_norm, QkNorm::per_head);
  EXPECT_EQ(config.rope.theta, 1e6);
  ASSERT_TRUE(config.local_rope);
  EXPECT_EQ(config.local_rope->theta, 1e4);
  EXPECT_EQ(config.attention_softcap, std::nullopt);
}

TEST(Gemma3, TakesTheLayoutOfTransformers4) {
  const ModelConfig config =
      defaults("gemma3_text", {{"num_hidden_layers", 7},
                               {"rope_theta", 2e6},
                               {"rope_local_base_freq", 5e3},
                               {"sliding_window", 4},
                               {"sliding_window_pattern", 3},
                               {"rope_scaling", {{"rope_type", "linear"}, {"factor", 8.0}}}});
  EXPECT_EQ(sliding_pattern(config), "SSFSSFS");
  EXPECT_EQ(config.rope.theta, 2e6);
  EXPECT_EQ(config.rope.kind, RopeConfig::Kind::linear);
  EXPECT_EQ(config.rope.factor, 8.0);
  EXPECT_EQ(config.local_rope->theta, 5e3);
  EXPECT_EQ(config.local_rope->kind, RopeConfig::Kind::standard);
}

// Five layers see the last four positions and rotate by base 10000; the sixth sees all.
TEST(Gemma3, SlidesInFiveOfSixLayers) {
  const ModelConfig config =
      defaults("gemma3_text", {{"num_hidden_layers", 6}, {"sliding_window", 4}});
  EXPECT_EQ(sliding_pattern(config), "SSSSSF");
  EXPECT_EQ(config.sliding_window, 4);
  EXPECT_EQ(config.rope.theta, 1e6);
  EXPECT_EQ(config.local_rope->theta, 1e4);
}

// The config.json of Gemma 3 4B: the text model's config states only what is not the default.
TEST(Gemma3, IsFoundInsideAModelThatAlsoSees) {
  json config = {{"model_type", "gemma3"},
                 {"vision_config", {{"hidden_size", 1152}}},
                 {"text_config",
                  {{"hidden_size", 2560},
                   {"intermediate_size", 10240},
                   {"model_type", "gemma3_text"},
                   {"num_hidden_layers", 34},
                   {"rope_scaling", {{"factor", 8.0}, {"rope_type", "linear"}}},
                   {"sliding_window", 1024}}}};
  const ModelConfig text = parse(config);
  EXPECT_EQ(text.model_type, "gemma3_text");
  EXPECT_EQ(text.layers, 34);
  EXPECT_EQ(text.heads, 8);
  EXPECT_EQ(text.vocab_size, 262208);
  EXPECT_EQ(text.rope.factor, 8.0);
  EXPECT_EQ(text.sliding_window, 1024);
  EXPECT_TRUE(text.tie_word_embeddings);
  config["text_config"]["hidden_activation"] = "relu";
  expect_error([&] { parse(config); }, {"config.json: text_config: hidden_activation", "relu"});
  config["text_config"] = {{"model_type", "gemma3"}};
  expect_error([&] { parse(config); }, {"text_config: model_type", "gemma3"});
}

TEST(Gemma3, RefusesRotarySettingsOfNoLayerType) {
  expect_refused("gemma3_text", {{"rope_parameters", {{"rope_theta", 1e6}}}},
                 {"rope_parameters: rope_theta", "full_attention or sliding_attention"});
  expect_refused("gemma3_text",
                 {{"rope_parameters", {{"sliding_attention", {{"rope_type", "spiral"}}}}}},
                 {"rope_parameters: sliding_attention: rope_type", "spiral"});
  expect_refused("llama", {{"rope_parameters", {{"full_attention", {{"rope_type", "default"}}}}}},
                 {"rope_parameters: full_attention", "differ by layer"});
}

TEST(Phi3, RotatesAPartOfEachHead) {
  const ModelConfig config = tiny("phi3_longrope");
  EXPECT_EQ(config.head_dim, 16);
  EXPECT_EQ(config.rotary_dim, 12);
  EXPECT_EQ(config.rope.kind, RopeConfig::Kind::longrope);
  EXPECT_EQ(config.rope.original_max_position_embeddings, 64);
  EXPECT_EQ(config.rope.factor, 16.0);
  EXPECT_DOUBLE_EQ(config.rope.attention_factor, std::sqrt(1.0 + std::log(16.0) / std::log(64.0)));
  EXPECT_THAT(config.rope.short_factor, ElementsAre(1.0, 1.02, 1.05, 1.1, 1.3, 1.7));
  EXPECT_THAT(config.rope.long_factor, ElementsAre(1.1, 1.6, 2.9, 5.0, 9.5, 14.0));
  EXPECT_EQ(tiny("phi3").rotary_dim, 16);
  EXPECT_EQ(defaults("phi3").sliding_window, 0);
  EXPECT_EQ(defaults("phi3", {{"sliding_window", 2047}}).sliding_window, 2047);
}

TEST(Phi3, HasOnlyLongropeUnderThreeNames) {
  const std::vector<double> factors(48, 2.0);
  for (const char* type : {"longrope", "su", "yarn"}) {
    const ModelConfig config = defaults(
        "phi3",
        {{"rope_scaling", {{"type", type}, {"short_factor", factors}, {"long_factor", factors}}}});
    EXPECT_EQ(config.rope.kind, RopeConfig::Kind::longrope);
    EXPECT_EQ(config.rope.attention_factor, 1.0);
  }
  expect_refused("phi3", {{"rope_scaling", {{"type", "linear"}, {"factor", 2.0}}}},
                 {"rope_scaling: type", "default, longrope", "linear"});
  expect_refused(
      "phi3",
      {{"rope_scaling", {{"type", "longrope"}, {"short_factor", {1.0}}, {"long_factor", factors}}}},
      {"rope_scaling: short_factor", "expected 48", "found 1"});
  expect_refused("phi3", {{"partial_rotary_factor", 0.01}}, {"partial_rotary_factor", "found 0"});
}

TEST(Glm, RotatesPairsSideBySideInHalfOfEachHead) {
  const ModelConfig config = defaults("glm");
  EXPECT_TRUE(config.interleaved_rotary);
  EXPECT_EQ(config.rotary_dim, 64);
  EXPECT_EQ(defaults("glm", {{"rope_parameters", {{"partial_rotary_factor", 0.25}}}}).rotary_dim,
            32);
}

TEST(Olmo2, NormsQueriesAndKeysOfAllHeadsAtOnce) {
  EXPECT_EQ(tiny("olmo2").qk_norm, QkNorm::whole);
  EXPECT_EQ(defaults("olmo2", {{"attention_bias", true}}).output_bias, true);
}

TEST(Families, RefuseLayerTypesThatTheyDoNotHave) {
  const json one = {{"num_hidden_layers", 1}};
  json config = one;
  config["layer_types"] = {"sliding_attention"};
  expect_refused("llama", config, {"config.json: layer_types", "expected full_attention"});
  config["layer_types"] = {"chunked_attention"};
  expect_refused("gemma2", config, {"config.json: layer_types", "chunked_attention"});
  config["layer_types"] = {"full_attention", "full_attention"};
  expect_refused("qwen3", config, {"config.json: layer_types", "expected 1", "found 2"});
  config["layer_types"] = {"full_attention"};
  EXPECT_EQ(sliding_pattern(defaults("llama", config)), "F");
}

}  // namespace
}  // namespace lathe
