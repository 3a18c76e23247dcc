// The tables of docs/models.md are those that the code's own lists give.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/expected_tensors.h"
#include "checkpoint/families/family.h"
#include "checkpoint/ggml_types.h"
#include "checkpoint/gguf_family.h"
#include "support/test_files.h"

namespace lathe {
namespace {

using nlohmann::json;

/// Configs of the checkpoints with golden values, by model_type.
std::multimap<std::string, ModelConfig> fixtures() {
  std::vector<std::filesystem::path> folders;
  for (const auto& entry : std::filesystem::directory_iterator(LATHE_TEST_DATA "/tiny")) {
    folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  std::multimap<std::string, ModelConfig> configs;
  for (const std::filesystem::path& folder : folders) {
    const std::string file = (folder / "config.json").string();
    ModelConfig config = parse_model_config(json::parse(testing::read_bytes(file)), file);
    configs.emplace(config.model_type, std::move(config));
  }
  return configs;
}

bool any_layer(const ModelConfig& config, bool LayerConfig::* field, bool value) {
  const std::vector<LayerConfig>& layers = config.layer_configs;
  return std::any_of(layers.begin(), layers.end(),
                     [&](const LayerConfig& layer) { return layer.*field == value; });
}

bool has_packed_projections(const ModelConfig& config) {
  const std::vector<TensorInfo> tensors = expected_tensors(config);
  return std::any_of(tensors.begin(), tensors.end(), [](const TensorInfo& tensor) {
    return tensor.name.find("qkv_proj") != std::string::npos;
  });
}

/// What a model computes that a Llama does not, behind what is listed already.
void add_beyond_llama(const ModelConfig& config, std::vector<std::string>& found) {
  const auto add = [&](bool has, const char* what) {
    if (has && std::find(found.begin(), found.end(), what) == found.end()) found.push_back(what);
  };
  add(has_packed_projections(config), "packed projections");
  add(config.rope.kind == RopeConfig::Kind::longrope, "longrope");
  add(config.hidden_act == Activation::gelu_tanh, "GELU (tanh)");
  add(config.qkv_bias, "biases of q, k and v");
  add(config.qk_norm == QkNorm::per_head, "norms of the heads of q and k");
  add(config.qk_norm == QkNorm::whole, "norms of all of q and k");
  add(any_layer(config, &LayerConfig::sliding, true), "sliding windows in ring caches");
  add(any_layer(config, &LayerConfig::rotary, false), "layers without RoPE");
  add(config.local_rope.has_value(), "another RoPE in sliding layers");
  add(config.rotary_dim < config.head_dim, "a part of each head rotates");
  add(config.interleaved_rotary, "neighbours rotate together");
  add(config.embedding_multiplier != 1.0, "scaled embeddings");
  add(config.residual_multiplier != 1.0, "scaled residual branches");
  add(config.logits_scaling != 1.0, "scaled logits");
  add(config.attention_softcap.has_value(), "soft cap of scores");
  add(config.final_softcap.has_value(), "soft cap of logits");
  add(config.norm_adds_one, "norms of 1 + weight");
}

std::string families_table() {
  const std::multimap<std::string, ModelConfig> golden = fixtures();
  std::string table =
      "| model_type | GGUF architecture | beyond Llama | checked against golden numbers |\n"
      "| --- | --- | --- | --- |\n";
  for (const Family& family : families()) {
    const std::string type(family.model_type);
    std::vector<std::string> features;
    const auto [begin, end] = golden.equal_range(type);
    for (auto config = begin; config != end; ++config) add_beyond_llama(config->second, features);
    if (begin == end) add_beyond_llama(parse_model_config({{"model_type", type}}, type), features);
    std::string architecture = "none";
    for (const GgufFamily& gguf : gguf_families()) {
      if (gguf.model_type == type) architecture = fmt::format("`{}`", gguf.architecture);
    }
    table += fmt::format("| `{}` | {} | {} | {} |\n", type, architecture, fmt::join(features, "; "),
                         begin == end ? "no" : "yes");
  }
  return table;
}

TEST(ModelsPage, HasTheTablesThatTheCodeGives) {
  const std::string page = testing::read_bytes(LATHE_TEST_DATA "/../../docs/models.md");
  EXPECT_THAT(page, ::testing::HasSubstr(families_table()));
  EXPECT_THAT(page, ::testing::HasSubstr("GGUF tensors may be " + ggml_types_read() + "."));
}

}  // namespace
}  // namespace lathe
