#include "checkpoint/gguf_family.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <sstream>

#include "checkpoint/checkpoint.h"
#include "checkpoint/expected_tensors.h"
#include "checkpoint/gguf_builder.h"
#include "support/expect_error.h"
#include "support/test_files.h"

namespace lathe {
namespace {

using nlohmann::json;
using testing::GgufBuilder;
using ::testing::HasSubstr;
using testing::TestFolder;

/// How llama.cpp's converter writes a family (conversion/*.py): its architecture, what it does to
/// weights, and its names for the norms around attention and MLP.
struct Converter {
  const char* architecture;
  bool interleaves = false;
  bool adds_one = false;
  bool packs_qkv = false;  // `add` writes queries, keys and values
  std::map<std::string, std::string> norms{{"input_layernorm", "attn_norm"},
                                           {"post_attention_layernorm", "ffn_norm"}};
  /// Keys of this family alone.
  void (*add)(GgufBuilder& gguf, const ModelConfig& config) = [](GgufBuilder&, const ModelConfig&) {
  };
};

const std::map<std::string, std::string> kFourNorms{
    {"input_layernorm", "attn_norm"},
    {"post_attention_layernorm", "post_attention_norm"},
    {"pre_feedforward_layernorm", "ffn_norm"},
    {"post_feedforward_layernorm", "post_ffw_norm"}};

const std::map<std::string, std::string> kModules{
    {"self_attn.q_proj", "attn_q"},      {"self_attn.k_proj", "attn_k"},
    {"self_attn.v_proj", "attn_v"},      {"self_attn.o_proj", "attn_output"},
    {"self_attn.q_norm", "attn_q_norm"}, {"self_attn.k_norm", "attn_k_norm"},
    {"self_attn.qkv_proj", "attn_qkv"},  {"mlp.gate_up_proj", "ffn_up"},
    {"mlp.gate_proj", "ffn_gate"},       {"mlp.up_proj", "ffn_up"},
    {"mlp.down_proj", "ffn_down"}};

uint32_t u32(int64_t value) { return static_cast<uint32_t>(value); }
float f32(double value) { return static_cast<float>(value); }

/// Any numbers that are different from one another and from tensor to tensor.
std::vector<float> values_for(const TensorInfo& tensor) {
  std::vector<float> values(static_cast<size_t>(elements(tensor.shape)));
  uint32_t state = u32(static_cast<int64_t>(tensor.name.size() * 977 + tensor.name.back()));
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(state >> 16) / 32768.0f - 1.0f;  // exact, and so is 1 + value
  }
  return values;
}

/// Every head's rows: first those of its first half at even places, then the others between them.
std::vector<float> interleaved(const std::vector<float>& values, int64_t head_dim, int64_t width) {
  std::vector<float> out(values.size());
  const auto rows = static_cast<int64_t>(values.size()) / width;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t within = row % head_dim;
    const int64_t pair = within % (head_dim / 2);
    const int64_t to = row - within + 2 * pair + within / (head_dim / 2);
    std::copy_n(values.begin() + row * width, width, out.begin() + to * width);
  }
  return out;
}

std::string name_in_file(const std::string& hf, const Converter& converter) {
  if (hf == "model.embed_tokens.weight") return "token_embd.weight";
  if (hf == "model.norm.weight") return "output_norm.weight";
  if (hf == "lm_head.weight") return "output.weight";
  const std::string rest = hf.substr(std::string("model.layers.").size());
  const size_t dot = rest.find('.');
  const size_t last = rest.rfind('.');
  const std::string module = rest.substr(dot + 1, last - dot - 1);
  const auto& names = converter.norms.contains(module) ? converter.norms : kModules;
  return "blk." + rest.substr(0, dot) + "." + names.at(module) + rest.substr(last);
}

GgufBuilder convert(const ModelConfig& config, const Converter& converter) {
  GgufBuilder gguf;
  const std::string prefix = std::string(converter.architecture) + ".";
  gguf.string("general.architecture", converter.architecture)
      .integer(prefix + "vocab_size", u32(config.vocab_size))
      .integer(prefix + "block_count", u32(config.layers))
      .integer(prefix + "context_length", u32(config.max_position_embeddings))
      .integer(prefix + "embedding_length", u32(config.hidden_size))
      .integer(prefix + "feed_forward_length", u32(config.intermediate_size))
      .integer(prefix + "attention.head_count", u32(config.heads))
      .integer(prefix + "attention.head_count_kv", u32(config.kv_heads))
      .integer(prefix + "rope.dimension_count", u32(config.rotary_dim))
      .number(prefix + "rope.freq_base", f32(config.rope.theta))
      .number(prefix + "attention.layer_norm_rms_epsilon", f32(config.rms_norm_eps));
  if (config.head_dim * config.heads != config.hidden_size) {
    gguf.integer(prefix + "attention.key_length", u32(config.head_dim))
        .integer(prefix + "attention.value_length", u32(config.head_dim));
  }
  converter.add(gguf, config);
  for (const TensorInfo& tensor : expected_tensors(config)) {
    std::vector<float> values = values_for(tensor);
    const bool rotated = tensor.name.find(".q_proj.") != std::string::npos ||
                         tensor.name.find(".k_proj.") != std::string::npos;
    const bool packed = rotated || tensor.name.find(".v_proj.") != std::string::npos;
    if (converter.packs_qkv && packed) continue;
    if (converter.interleaves && rotated) {
      values = interleaved(values, config.head_dim, tensor.shape.size() == 2 ? tensor.shape[1] : 1);
    }
    if (converter.adds_one && tensor.name.ends_with("norm.weight")) {
      for (float& value : values) value += 1.0f;
    }
    gguf.f32(name_in_file(tensor.name, converter), tensor.shape, values);
  }
  return gguf;
}

void print(std::ostream& out, const RopeConfig& rope) {
  out << "rope " << static_cast<int>(rope.kind) << ' ' << rope.theta << ' ' << rope.factor << ' '
      << rope.original_max_position_embeddings << ' ' << f32(rope.attention_factor);
  for (const double factor : rope.short_factor) out << ' ' << factor;
  for (const double factor : rope.long_factor) out << ' ' << factor;
  out << '\n';
}

/// Everything that a config says, to be compared as a whole.
std::string text_of(const ModelConfig& config) {
  std::ostringstream out;
  out << config.model_type << ' ' << config.vocab_size << ' ' << config.hidden_size << ' '
      << config.intermediate_size << ' ' << config.layers << ' ' << config.heads << ' '
      << config.kv_heads << ' ' << config.head_dim << ' ' << config.max_position_embeddings << ' '
      << config.rms_norm_eps << '\n'
      << config.norm_adds_one << static_cast<int>(config.hidden_act) << config.qkv_bias
      << config.output_bias << config.mlp_bias << config.tie_word_embeddings
      << static_cast<int>(config.qk_norm) << config.interleaved_rotary << '\n'
      << config.rotary_dim << ' ' << config.attention_scale << ' ' << config.embedding_multiplier
      << ' ' << config.residual_multiplier << ' ' << config.logits_scaling << ' '
      << config.attention_softcap.value_or(0) << ' ' << config.final_softcap.value_or(0) << ' '
      << config.sliding_window << '\n';
  for (const LayerConfig& layer : config.layer_configs) out << layer.sliding << layer.rotary << ' ';
  print(out, config.rope);
  if (config.local_rope) print(out, *config.local_rope);
  return out.str();
}

/// The config.json of a tiny checkpoint (tests/data/tiny/NAME), without what files of the family
/// cannot say.
ModelConfig tiny(const std::string& name, const json& changes = json::object()) {
  json config = json::parse(
      testing::read_bytes(std::string(LATHE_TEST_DATA "/tiny/") + name + "/config.json"));
  config.merge_patch(changes);
  return parse_model_config(config, "config.json");
}

void expect_same_model(const ModelConfig& config, const Converter& converter) {
  SCOPED_TRACE(converter.architecture);
  const TestFolder folder;
  const auto opened = Checkpoint::open(folder.write("m.gguf", convert(config, converter).bytes()));
  EXPECT_EQ(text_of(opened->config()), text_of(config));
  EXPECT_THAT(opened->warnings(), ::testing::ElementsAre(HasSubstr("no tokenizer")));
  const std::vector<TensorInfo> expected = expected_tensors(config);
  ASSERT_EQ(opened->tensors().size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    std::vector<float> values(static_cast<size_t>(elements(expected[i].shape)));
    opened->read_f32(static_cast<int>(i), 0, static_cast<int64_t>(values.size()), values.data());
    EXPECT_EQ(values, values_for(expected[i])) << expected[i].name;
  }
}

TEST(GgufFamily, Qwen) {
  expect_same_model(tiny("qwen2"), {.architecture = "qwen2"});
  expect_same_model(tiny("qwen3"), {.architecture = "qwen3"});
}

// llama.cpp rotates in three of four layers, whatever the checkpoint says; files do not tell.
TEST(GgufFamily, Smollm3) {
  expect_same_model(tiny("smollm3", {{"no_rope_layers", nullptr}, {"no_rope_layer_interval", 4}}),
                    {.architecture = "smollm3", .interleaves = true});
}

TEST(GgufFamily, Granite) {
  expect_same_model(tiny("granite"),
                    {.architecture = "granite",
                     .interleaves = true,
                     .add = [](GgufBuilder& gguf, const ModelConfig& config) {
                       gguf.number("granite.attention.scale", f32(config.attention_scale))
                           .number("granite.embedding_scale", f32(config.embedding_multiplier))
                           .number("granite.residual_scale", f32(config.residual_multiplier))
                           .number("granite.logit_scale", f32(config.logits_scaling));
                     }});
}

TEST(GgufFamily, Gemma) {
  const json gemma = {{"model_type", "gemma"}, {"query_pre_attn_scalar", nullptr}};
  expect_same_model(tiny("gemma2", gemma), {.architecture = "gemma", .adds_one = true});
}

// The scale of attention scores follows from the head size.
TEST(GgufFamily, Gemma2) {
  expect_same_model(tiny("gemma2", {{"query_pre_attn_scalar", 32}}),
                    {.architecture = "gemma2",
                     .adds_one = true,
                     .norms = kFourNorms,
                     .add = [](GgufBuilder& gguf, const ModelConfig& config) {
                       gguf.number("gemma2.attn_logit_softcapping", f32(*config.attention_softcap))
                           .number("gemma2.final_logit_softcapping", f32(*config.final_softcap))
                           .integer("gemma2.attention.sliding_window", u32(config.sliding_window));
                     }});
}

TEST(GgufFamily, Gemma3) {
  const json changes = {
      {"query_pre_attn_scalar", 32}, {"layer_types", nullptr}, {"num_hidden_layers", 7}};
  const Converter converter{
      .architecture = "gemma3",
      .adds_one = true,
      .norms = kFourNorms,
      .add = [](GgufBuilder& gguf, const ModelConfig& config) {
        gguf.integer("gemma3.attention.sliding_window", u32(config.sliding_window))
            .number("gemma3.rope.freq_base_swa", f32(config.local_rope->theta));
      }};
  expect_same_model(tiny("gemma3", changes), converter);
}

TEST(GgufFamily, Phi3) {
  const auto window = [](GgufBuilder& gguf, const ModelConfig& config) {
    gguf.integer("phi3.attention.sliding_window", u32(config.sliding_window))
        .integer("phi3.rope.scaling.original_context_length", 4096);
  };
  expect_same_model(tiny("phi3"), {.architecture = "phi3", .add = window});
  expect_same_model(tiny("phi3", {{"sliding_window", 20}}),
                    {.architecture = "phi3", .add = window});
}

TEST(GgufFamily, Phi3WithLongrope) {
  expect_same_model(
      tiny("phi3_longrope"),
      {.architecture = "phi3", .add = [](GgufBuilder& gguf, const ModelConfig& config) {
         const RopeConfig& rope = config.rope;
         gguf.string("phi3.rope.scaling.type", "longrope")
             .integer("phi3.rope.scaling.original_context_length",
                      u32(rope.original_max_position_embeddings))
             .number("phi3.rope.scaling.attn_factor", f32(rope.attention_factor));
         for (const auto& [name, factors] :
              {std::pair{"rope_factors_short.weight", &rope.short_factor},
               std::pair{"rope_factors_long.weight", &rope.long_factor}}) {
           const std::vector<float> stored(factors->begin(), factors->end());
           gguf.f32(name, {static_cast<int64_t>(stored.size())}, stored);
         }
       }});
}

TEST(GgufFamily, Olmo2) {
  expect_same_model(tiny("olmo2"), {.architecture = "olmo2",
                                    .norms = {{"post_attention_layernorm", "post_attention_norm"},
                                              {"post_feedforward_layernorm", "post_ffw_norm"}}});
}

// Neighbours rotate in files as in Hugging Face's weights, which stay in their order.
TEST(GgufFamily, Glm) {
  expect_same_model(tiny("glm"), {.architecture = "chatglm"});
  expect_same_model(tiny("glm", {{"attention_bias", false}}), {.architecture = "chatglm"});
  expect_same_model(tiny("glm", {{"partial_rotary_factor", 1.0}}), {.architecture = "chatglm"});
}

/// The tensors of a layer's queries, keys and values, one behind the other.
std::vector<float> packed_values(const ModelConfig& config, const std::string& layer,
                                 const std::string& kind) {
  std::vector<float> packed;
  for (const char* which : {"q_proj", "k_proj", "v_proj"}) {
    for (const TensorInfo& tensor : expected_tensors(config)) {
      if (tensor.name != layer + "self_attn." + which + kind) continue;
      const std::vector<float> values = values_for(tensor);
      packed.insert(packed.end(), values.begin(), values.end());
    }
  }
  return packed;
}

// So do ChatGLM's own files have them, which became GLM in transformers.
TEST(GgufFamily, QueriesKeysAndValuesMayBeOneTensor) {
  expect_same_model(tiny("glm"),
                    {.architecture = "chatglm",
                     .packs_qkv = true,
                     .add = [](GgufBuilder& gguf, const ModelConfig& config) {
                       const int64_t rows = (config.heads + 2 * config.kv_heads) * config.head_dim;
                       for (int64_t i = 0; i < config.layers; ++i) {
                         const std::string hf = "model.layers." + std::to_string(i) + ".";
                         const std::string name = "blk." + std::to_string(i) + ".attn_qkv";
                         gguf.f32(name + ".weight", {rows, config.hidden_size},
                                  packed_values(config, hf, ".weight"));
                         gguf.f32(name + ".bias", {rows}, packed_values(config, hf, ".bias"));
                       }
                     }});
}

// 64 queries, 16 keys and 16 values: three blocks of 32.
TEST(GgufFamily, QueriesKeysAndValuesOfOneTensorDoNotShareBlocks) {
  const Converter converter{.architecture = "chatglm",
                            .packs_qkv = true,
                            .add = [](GgufBuilder& gguf, const ModelConfig& config) {
                              gguf.f32("blk.0.attn_qkv.weight", {96, config.hidden_size},
                                       packed_values(config, "model.layers.0.", ".weight"));
                              constexpr uint32_t kQ8 = 8;
                              gguf.tensor("blk.0.attn_qkv.bias", {96}, kQ8,
                                          std::string(3 * 34, '\0'));
                            }};
  const ModelConfig config = tiny("glm", {{"num_key_value_heads", 1}, {"num_hidden_layers", 1}});
  const TestFolder folder;
  const std::string bytes = convert(config, converter).bytes();
  testing::expect_error([&] { Checkpoint::open(folder.write("m.gguf", bytes)); },
                        {"m.gguf: blk.0.attn_qkv.bias", "share blocks", "multiples of 32"});
}

TEST(GgufFamily, RefusesSettingsThatAFamilyDoesNotHave) {
  const TestFolder folder;
  const auto refused = [&](const char* name, const Converter& converter,
                           const std::vector<std::string>& parts) {
    const std::string bytes = convert(tiny(name), converter).bytes();
    testing::expect_error([&] { Checkpoint::open(folder.write("m.gguf", bytes)); }, parts);
  };
  refused("olmo2",
          {.architecture = "olmo2",
           .norms = kFourNorms,
           .add = [](GgufBuilder& gguf,
                     const ModelConfig&) { gguf.integer("olmo2.attention.sliding_window", 4096); }},
          {"m.gguf: olmo2.attention.sliding_window", "expected 0", "found 4096"});
  refused("glm", {.architecture = "glm4"},
          {"m.gguf: general.architecture", "chatglm", "found \"glm4\""});
  refused("qwen3",
          {.architecture = "qwen3",
           .add = [](GgufBuilder& gguf,
                     const ModelConfig&) { gguf.number("qwen3.final_logit_softcapping", 30.0f); }},
          {"m.gguf: qwen3.final_logit_softcapping"});
  refused("granite", {.architecture = "granite", .interleaves = true},
          {"m.gguf: granite.logit_scale", "missing"});
  refused("granite",
          {.architecture = "granite",
           .add =
               [](GgufBuilder& gguf, const ModelConfig&) {
                 gguf.number("granite.logit_scale", 8.0f)
                     .boolean("granite.rope.scaling.finetuned", false);
               }},
          {"m.gguf: granite.rope.scaling.finetuned", "found false"});
}

}  // namespace
}  // namespace lathe
