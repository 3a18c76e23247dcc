#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numbers>

#include "checkpoint/checkpoint.h"
#include "checkpoint/gguf_builder.h"
#include "checkpoint/gguf_config.h"
#include "support/expect_error.h"
#include "support/test_files.h"

namespace lathe {
namespace {

using ::testing::ElementsAre;
using testing::expect_error;
using testing::GgufBuilder;
using ::testing::HasSubstr;
using testing::TestFolder;

std::vector<float> values_of(const Checkpoint& checkpoint, int tensor) {
  const int64_t count = elements(checkpoint.tensors()[static_cast<size_t>(tensor)].shape);
  std::vector<float> values(static_cast<size_t>(count));
  checkpoint.read_f32(tensor, 0, count, values.data());
  return values;
}

const GgufFamily& llama() {
  static const std::string bytes = GgufBuilder().string("general.architecture", "llama").bytes();
  return gguf_family(Gguf::parse(std::as_bytes(std::span(bytes)), "m.gguf"));
}

/// The settings of a config as GGUF converters write them.
void add_config(GgufBuilder& gguf, const ModelConfig& config) {
  const auto number = [](int64_t value) { return static_cast<uint32_t>(value); };
  gguf.string("general.architecture", "llama")
      .integer("llama.vocab_size", number(config.vocab_size))
      .integer("llama.block_count", number(config.layers))
      .integer("llama.context_length", number(config.max_position_embeddings))
      .integer("llama.embedding_length", number(config.hidden_size))
      .integer("llama.feed_forward_length", number(config.intermediate_size))
      .integer("llama.attention.head_count", number(config.heads))
      .integer("llama.attention.head_count_kv", number(config.kv_heads))
      .integer("llama.attention.key_length", number(config.head_dim))
      .integer("llama.attention.value_length", number(config.head_dim))
      .integer("llama.rope.dimension_count", number(config.head_dim))
      .number("llama.rope.freq_base", static_cast<float>(config.rope.theta))
      .number("llama.attention.layer_norm_rms_epsilon", static_cast<float>(config.rms_norm_eps));
}

/// Converters cut every head in two halves and interleave their rows, since GGML rotates
/// neighbours.
std::vector<float> interleave_rows(const std::vector<float>& values, int64_t heads,
                                   int64_t head_dim, int64_t width) {
  std::vector<float> out(values.size());
  for (int64_t head = 0; head < heads; ++head) {
    for (int64_t half = 0; half < 2; ++half) {
      for (int64_t pair = 0; pair < head_dim / 2; ++pair) {
        const int64_t from = head * head_dim + half * (head_dim / 2) + pair;
        const int64_t to = head * head_dim + 2 * pair + half;
        std::copy_n(values.begin() + from * width, width, out.begin() + to * width);
      }
    }
  }
  return out;
}

void add_tensors(GgufBuilder& gguf, const Checkpoint& source) {
  const ModelConfig& config = source.config();
  for (size_t i = 0; i < source.tensors().size(); ++i) {
    const TensorInfo& tensor = source.tensors()[i];
    std::vector<float> values = values_of(source, static_cast<int>(i));
    const int64_t width = tensor.shape.size() == 2 ? tensor.shape[1] : 1;
    if (tensor.name.find(".q_proj.") != std::string::npos) {
      values = interleave_rows(values, config.heads, config.head_dim, width);
    } else if (tensor.name.find(".k_proj.") != std::string::npos) {
      values = interleave_rows(values, config.kv_heads, config.head_dim, width);
    }
    gguf.f32(gguf_tensor_name(tensor.name, llama()), tensor.shape, values);
  }
}

/// What llama3 scaling divides each inverse frequency by, in float32 as converters compute it.
std::vector<float> llama3_factors(const RopeConfig& rope, int64_t head_dim) {
  std::vector<float> factors;
  const auto original = static_cast<float>(rope.original_max_position_embeddings);
  const auto factor = static_cast<float>(rope.factor);
  const auto low = static_cast<float>(rope.low_freq_factor);
  const auto high = static_cast<float>(rope.high_freq_factor);
  for (int64_t i = 0; i < head_dim; i += 2) {
    const float power = static_cast<float>(i) / static_cast<float>(head_dim);
    const float frequency = 1.0f / std::pow(static_cast<float>(rope.theta), power);
    const float wavelength = 2.0f * std::numbers::pi_v<float> / frequency;
    if (wavelength < original / high) {
      factors.push_back(1.0f);
    } else if (wavelength > original / low) {
      factors.push_back(factor);
    } else {
      const float smooth = (original / wavelength - low) / (high - low);
      factors.push_back(1.0f / ((1.0f - smooth) / factor + smooth));
    }
  }
  return factors;
}

GgufBuilder from(const Checkpoint& source) {
  GgufBuilder gguf;
  add_config(gguf, source.config());
  add_tensors(gguf, source);
  const RopeConfig& rope = source.config().rope;
  if (rope.kind == RopeConfig::Kind::llama3) {
    const auto factors = llama3_factors(rope, source.config().head_dim);
    gguf.f32("rope_freqs.weight", {static_cast<int64_t>(factors.size())}, factors);
  }
  return gguf;
}

void expect_same_model(const Checkpoint& a, const Checkpoint& b) {
  EXPECT_EQ(a.config().head_dim, b.config().head_dim);
  EXPECT_EQ(a.config().rms_norm_eps, b.config().rms_norm_eps);
  EXPECT_EQ(a.config().tie_word_embeddings, b.config().tie_word_embeddings);
  EXPECT_EQ(a.config().max_position_embeddings, b.config().max_position_embeddings);
  EXPECT_EQ(a.config().rope.kind, b.config().rope.kind);
  EXPECT_EQ(a.config().rope.theta, b.config().rope.theta);
  EXPECT_EQ(a.config().rope.factor, b.config().rope.factor);
  EXPECT_EQ(a.config().rope.low_freq_factor, b.config().rope.low_freq_factor);
  EXPECT_EQ(a.config().rope.high_freq_factor, b.config().rope.high_freq_factor);
  EXPECT_EQ(a.config().rope.original_max_position_embeddings,
            b.config().rope.original_max_position_embeddings);
  ASSERT_EQ(a.tensors().size(), b.tensors().size());
  for (size_t i = 0; i < a.tensors().size(); ++i) {
    EXPECT_EQ(a.tensors()[i].name, b.tensors()[i].name);
    EXPECT_EQ(a.tensors()[i].shape, b.tensors()[i].shape);
    EXPECT_EQ(values_of(a, static_cast<int>(i)), values_of(b, static_cast<int>(i)))
        << a.tensors()[i].name;
  }
}

TEST(GgufCheckpoint, IsTheSameModelAsTheFolderItCameFrom) {
  const TestFolder folder;
  for (const char* source : {LATHE_TEST_DATA "/tiny/llama", LATHE_MODELS "/tiny"}) {
    SCOPED_TRACE(source);
    const auto original = Checkpoint::open(source);
    const auto converted = Checkpoint::open(folder.write("m.gguf", from(*original).bytes()));
    expect_same_model(*converted, *original);
    EXPECT_THAT(converted->warnings(), ElementsAre(HasSubstr("no tokenizer")));
  }
}

TEST(GgufCheckpoint, ReadsAnyRangeOfRows) {
  const TestFolder folder;
  const auto original = Checkpoint::open(LATHE_TEST_DATA "/tiny/llama");
  const auto converted = Checkpoint::open(folder.write("m.gguf", from(*original).bytes()));
  const int tensor = original->find("model.layers.1.self_attn.k_proj.weight");
  for (const auto& [first, rows] : {std::pair{0, 1}, {7, 3}, {15, 2}, {31, 1}, {5, 0}}) {
    std::vector<float> a(static_cast<size_t>(rows) * 64);
    std::vector<float> b(a.size());
    original->read_f32(tensor, first * 64, rows * 64, a.data());
    converted->read_f32(tensor, first * 64, rows * 64, b.data());
    EXPECT_EQ(a, b);
  }
}

/// A one-layer model with hidden size 32 and two heads of 16, its weights in any type.
struct SmallModel {
  SmallModel() {
    gguf.string("general.architecture", "llama")
        .integer("llama.vocab_size", 4)
        .integer("llama.block_count", 1)
        .integer("llama.context_length", 64)
        .integer("llama.embedding_length", 32)
        .integer("llama.feed_forward_length", 32)
        .integer("llama.attention.head_count", 2)
        .number("llama.attention.layer_norm_rms_epsilon", 1e-5f);
  }
  SmallModel& add_weights() {
    const std::vector<float> ones(32, 1.0f);
    const std::vector<float> square(32 * 32, 0.5f);
    gguf.f32("token_embd.weight", {4, 32}, std::vector<float>(4 * 32, 1.0f))
        .f32("output_norm.weight", {32}, ones)
        .f32("blk.0.attn_norm.weight", {32}, ones)
        .f32("blk.0.ffn_norm.weight", {32}, ones);
    for (const char* name :
         {"attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"}) {
      if (name == skip) continue;
      gguf.f32("blk.0." + std::string(name) + ".weight", {32, 32}, square);
    }
    return *this;
  }
  std::shared_ptr<const Checkpoint> open() const {
    return Checkpoint::open(folder.write("m.gguf", gguf.bytes()));
  }
  void expect_refused(const std::vector<std::string>& parts) const {
    expect_error([&] { open(); }, parts);
  }

  TestFolder folder;
  GgufBuilder gguf;
  std::string_view skip;
};

TEST(GgufCheckpoint, QuantizedRowsOfQueryAndKeyFindTheirPlaces) {
  SmallModel model;
  model.skip = "attn_q";
  // Q8_0: row r of the file is r times 1, 2, 3...: scale r (float16 holds it exactly), codes 1..32.
  std::string rows;
  for (int row = 0; row < 32; ++row) {
    const _Float16 scale = static_cast<_Float16>(row);
    rows.append(reinterpret_cast<const char*>(&scale), 2);
    for (char code = 1; code <= 32; ++code) rows += code;
  }
  model.add_weights().gguf.tensor("blk.0.attn_q.weight", {32, 32}, 8, rows);
  const auto checkpoint = model.open();
  const auto values =
      values_of(*checkpoint, checkpoint->find("model.layers.0.self_attn.q_proj.weight"));
  // Head 0: its first half is rows 0, 2, 4... of the file, its second half rows 1, 3, 5...
  for (const auto& [row, stored] :
       {std::pair{0, 0}, {1, 2}, {7, 14}, {8, 1}, {15, 15}, {16, 16}, {24, 17}, {31, 31}}) {
    EXPECT_EQ(values[static_cast<size_t>(row) * 32], static_cast<float>(stored)) << row;
    EXPECT_EQ(values[static_cast<size_t>(row) * 32 + 31], static_cast<float>(32 * stored)) << row;
  }
}

TEST(GgufCheckpoint, BiasesOfQueryAndKeyMoveWithTheirRows) {
  SmallModel model;
  std::vector<float> bias(32);
  for (size_t i = 0; i < 32; ++i) bias[i] = static_cast<float>(i);
  model.add_weights();
  for (const char* name : {"attn_q", "attn_k", "attn_v", "attn_output"}) {
    model.gguf.f32("blk.0." + std::string(name) + ".bias", {32}, bias);
  }
  const auto checkpoint = model.open();
  EXPECT_TRUE(checkpoint->config().qkv_bias);
  const auto query =
      values_of(*checkpoint, checkpoint->find("model.layers.0.self_attn.q_proj.bias"));
  EXPECT_EQ(query[1], 2.0f);
  EXPECT_EQ(query[8], 1.0f);
  EXPECT_EQ(query[31], 31.0f);
  const auto value =
      values_of(*checkpoint, checkpoint->find("model.layers.0.self_attn.v_proj.bias"));
  EXPECT_EQ(value, bias);
}

TEST(GgufCheckpoint, AnOutputMatrixMeansUntiedEmbeddings) {
  SmallModel tied;
  EXPECT_TRUE(tied.add_weights().open()->config().tie_word_embeddings);
  SmallModel untied;
  untied.add_weights().gguf.f32("output.weight", {4, 32}, std::vector<float>(128, 2.0f));
  const auto checkpoint = untied.open();
  EXPECT_FALSE(checkpoint->config().tie_word_embeddings);
  EXPECT_EQ(values_of(*checkpoint, checkpoint->find("lm_head.weight"))[0], 2.0f);
}

TEST(GgufCheckpoint, NamesMissingAndMisshapenTensors) {
  SmallModel missing;
  missing.skip = "ffn_up";
  missing.add_weights().expect_refused({"m.gguf: blk.0.ffn_up.weight", "missing"});
  missing.gguf.f32("blk.0.ffn_up.weight", {32, 16}, std::vector<float>(512));
  missing.expect_refused({"blk.0.ffn_up.weight", "expected [32, 32]", "found [32, 16]"});
}

TEST(GgufCheckpoint, RefusesModelsThatLlamaCannotExpress) {
  SmallModel other;
  other.gguf = GgufBuilder().string("general.architecture", "mamba");
  other.expect_refused({"general.architecture", "expected llama, qwen2", "\"mamba\""});
  other.gguf = GgufBuilder();
  other.expect_refused({"general.architecture", "missing"});
  const auto refuse = [](const auto& add, const std::vector<std::string>& parts) {
    SmallModel model;
    add(model.add_weights().gguf);
    model.expect_refused(parts);
  };
  refuse([](auto& gguf) { gguf.integer("llama.expert_count", 8); }, {"llama.expert_count", "8"});
  refuse([](auto& gguf) { gguf.integer("llama.attention.sliding_window", 4096); },
         {"sliding_window"});
  refuse([](auto& gguf) { gguf.number("llama.logit_scale", 8.0f); }, {"llama.logit_scale"});
  refuse([](auto& gguf) { gguf.boolean("llama.attention.causal", false); }, {"causal"});
  refuse([](auto& gguf) { gguf.integer("llama.rope.dimension_count", 8); },
         {"llama.rope.dimension_count", "expected 16", "found 8"});
  refuse([](auto& gguf) { gguf.integer("llama.attention.value_length", 8); }, {"value_length"});
  refuse([](auto& gguf) { gguf.string("llama.rope.scaling.type", "spiral"); },
         {"llama.rope.scaling.type", "none, linear, yarn or longrope", "spiral"});
  refuse([](auto& gguf) { gguf.string("llama.rope.scaling.type", "yarn"); },
         {"llama.rope.scaling.factor", "missing"});
  refuse([](auto& gguf) { gguf.f32("rope_factors_long.weight", {8}, std::vector<float>(8)); },
         {"longrope", "rope_factors_short.weight"});
  refuse([](auto& gguf) { gguf.f32("rope_freqs.weight", {4}, std::vector<float>(4)); },
         {"rope_freqs.weight", "expected [8]", "found [4]"});
  refuse([](auto& gguf) { gguf.f32("rope_freqs.weight", {8}, {1, 3, 2, 5, 8, 8, 8, 8}); },
         {"rope_freqs.weight", "not those of llama3 scaling"});
  refuse(
      [](auto& gguf) { gguf.f32("rope_freqs.weight", {8}, std::vector<float>(8, std::nanf(""))); },
      {"rope_freqs.weight", "not those of llama3 scaling"});
}

TEST(GgufCheckpoint, WarnsAboutSettingsThatNothingReads) {
  SmallModel model;
  model.add_weights().gguf.integer("llama.novelty", 1);
  EXPECT_THAT(model.open()->warnings(), ::testing::Contains(HasSubstr("llama.novelty")));
}

TEST(GgufCheckpoint, WarnsAboutTensorsThatNothingReads) {
  SmallModel model;
  model.add_weights().gguf.f32("blk.0.attn_q_norm.weight", {16}, std::vector<float>(16));
  EXPECT_THAT(model.open()->warnings(), ::testing::Contains(HasSubstr("blk.0.attn_q_norm.weight")));
}

TEST(GgufCheckpoint, HonoursLinearRopeScaling) {
  SmallModel model;
  model.add_weights()
      .gguf.string("llama.rope.scaling.type", "linear")
      .number("llama.rope.scaling.factor", 2.5f);
  EXPECT_EQ(model.open()->config().rope.kind, RopeConfig::Kind::linear);
  EXPECT_EQ(model.open()->config().rope.factor, 2.5);
  SmallModel none;
  none.add_weights().gguf.string("llama.rope.scaling.type", "none");
  EXPECT_EQ(none.open()->config().rope.kind, RopeConfig::Kind::standard);
}

TEST(GgufCheckpoint, HonoursYarn) {
  SmallModel model;
  model.add_weights()
      .gguf.string("llama.rope.scaling.type", "yarn")
      .number("llama.rope.scaling.factor", 4.0f)
      .integer("llama.rope.scaling.original_context_length", 16)
      .number("llama.rope.scaling.yarn_beta_fast", 24.0f);
  const RopeConfig rope = model.open()->config().rope;
  EXPECT_EQ(rope.kind, RopeConfig::Kind::yarn);
  EXPECT_EQ(rope.factor, 4.0);
  EXPECT_EQ(rope.original_max_position_embeddings, 16);
  EXPECT_EQ(rope.beta_fast, 24.0);
  EXPECT_DOUBLE_EQ(rope.attention_factor, 0.1 * std::log(4.0) + 1.0);
  model.gguf.number("llama.rope.scaling.yarn_ext_factor", 0.5f);
  model.expect_refused({"yarn_ext_factor", "expected 1"});
}

/// The settings that come back from the stored effect of llama3 scaling.
RopeConfig recovered(const RopeConfig& rope, int64_t head_dim) {
  const TestFolder folder;
  GgufBuilder gguf;
  ModelConfig config;
  config.vocab_size = 2;
  config.hidden_size = head_dim;
  config.intermediate_size = 2;
  config.layers = 1;
  config.heads = config.kv_heads = 1;
  config.head_dim = head_dim;
  config.max_position_embeddings = 131072;
  config.rope = rope;
  add_config(gguf, config);
  const auto factors = llama3_factors(rope, head_dim);
  gguf.f32("rope_freqs.weight", {static_cast<int64_t>(factors.size())}, factors);
  const std::string bytes = gguf.bytes();
  const auto span = std::as_bytes(std::span(bytes.data(), bytes.size()));
  std::vector<std::string> warnings;
  auto json = gguf_config(Gguf::parse(span, "m.gguf"), llama(), warnings);
  return parse_model_config(json, "m.gguf").rope;
}

TEST(GgufCheckpoint, RecoversLlama3ScalingFromItsEffect) {
  RopeConfig rope;
  rope.kind = RopeConfig::Kind::llama3;
  rope.theta = 500000.0;
  for (const double factor : {8.0, 32.0}) {  // Llama 3.1 and 3.2
    for (const int64_t head_dim : {64, 128}) {
      rope.factor = factor;
      const RopeConfig found = recovered(rope, head_dim);
      EXPECT_EQ(found.kind, RopeConfig::Kind::llama3);
      EXPECT_EQ(found.factor, factor);
      EXPECT_EQ(found.low_freq_factor, 1.0);
      EXPECT_EQ(found.high_freq_factor, 4.0);
      EXPECT_EQ(found.original_max_position_embeddings, 8192);
    }
  }
  // Settings nobody has published yet. Only original / high and original / low can be seen.
  rope.factor = 16.0;
  rope.low_freq_factor = 2.0;
  rope.high_freq_factor = 10.0;
  rope.original_max_position_embeddings = 6000;
  const RopeConfig found = recovered(rope, 128);
  EXPECT_EQ(found.low_freq_factor, 1.0);
  EXPECT_NEAR(found.high_freq_factor, 5.0, 1e-3);
  EXPECT_NEAR(static_cast<double>(found.original_max_position_embeddings), 3000.0, 1.0);
}

}  // namespace
}  // namespace lathe
