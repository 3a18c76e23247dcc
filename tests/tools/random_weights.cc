#include "tools/random_weights.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <numbers>
#include <span>
#include <utility>

#include "checkpoint/config.h"
#include "checkpoint/expected_tensors.h"
#include "support/error.h"
#include "support/half.h"
#include "support/mapped_file.h"
#include "support/output_file.h"
#include "support/random.h"
#include "support/safetensors.h"

namespace lathe::testing {
namespace {

namespace fs = std::filesystem;

constexpr size_t kQuantiles = 65536;
/// Numbers made at a time: 2 MB.
constexpr int64_t kPiece = int64_t{1} << 20;

struct Spread {
  double mean = 0.0;
  double deviation = 0.0;
};
constexpr Spread kWeights{0.0, 0.02};
constexpr Spread kNorms{1.0, 0.05};

/// The normal distribution as equally likely numbers: quantile i is where its integral is
/// (i + 0.5) / 65536. Sixteen random bits then make a weight.
std::vector<double> normal_quantiles() {
  std::vector<double> quantiles(kQuantiles);
  double x = 0.0;
  for (size_t i = kQuantiles / 2; i < kQuantiles; ++i) {
    const double tail = 1.0 - (static_cast<double>(i) + 0.5) / kQuantiles;
    // Newton's method from the neighbour on; the tail's integral is convex, so it never overshoots.
    for (double step = 1.0; std::abs(step) > 1e-10;) {
      const double missing = 0.5 * std::erfc(x / std::numbers::sqrt2) - tail;
      step = missing * std::sqrt(2.0 * std::numbers::pi) * std::exp(x * x / 2.0);
      x += step;
    }
    quantiles[i] = x;
    quantiles[kQuantiles - 1 - i] = -x;
  }
  return quantiles;
}

std::vector<uint16_t> in_bf16(const std::vector<double>& quantiles, const Spread& spread) {
  std::vector<uint16_t> codes;
  for (const double x : quantiles) {
    codes.push_back(f32_to_bf16(static_cast<float>(spread.mean + spread.deviation * x)));
  }
  return codes;
}

/// A seed for each tensor (FNV-1a over its name), so that none depends on those before it.
uint64_t seed_of(const std::string& name, uint64_t seed) {
  uint64_t hash = 0xCBF29CE484222325u ^ seed;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return hash;
}

void write_weights(const fs::path& path, const ModelConfig& config, uint64_t seed) {
  const std::vector<TensorInfo> tensors = expected_tensors(config);
  std::vector<SafetensorsDeclaration> declarations;
  for (const TensorInfo& tensor : tensors) {
    declarations.push_back({tensor.name, DType::bf16, tensor.shape});
  }
  SafetensorsWriter writer(path, {{"format", "pt"}}, std::move(declarations));

  const std::vector<double> quantiles = normal_quantiles();
  const std::vector<uint16_t> weights = in_bf16(quantiles, kWeights);
  const std::vector<uint16_t> norms = in_bf16(quantiles, kNorms);
  std::vector<uint16_t> piece(static_cast<size_t>(kPiece));
  for (const TensorInfo& tensor : tensors) {
    const bool is_norm = tensor.name.ends_with("norm.weight");
    const std::vector<uint16_t>& codes = is_norm ? norms : weights;
    SplitMix64 random(seed_of(tensor.name, seed));
    const int64_t total = elements(tensor.shape);
    for (int64_t done = 0; done < total; done += kPiece) {
      const auto count = static_cast<size_t>(std::min(kPiece, total - done));
      for (size_t i = 0; i < count; i += 4) {
        uint64_t bits = random.next();
        for (size_t j = i; j < std::min(i + 4, count); ++j, bits >>= 16) {
          piece[j] = codes[bits & 0xFFFF];
        }
      }
      writer.write(tensor.name, std::as_bytes(std::span(piece.data(), count)));
    }
  }
  writer.commit();
}

void write_file(const fs::path& path, std::span<const std::byte> bytes) {
  OutputFile file(path);
  file.write(bytes);
  file.commit();
}

/// What all shapes have in common.
nlohmann::json llama() {
  return {{"architectures", {"LlamaForCausalLM"}},
          {"attention_bias", false},
          {"bos_token_id", 0},
          {"eos_token_id", 0},
          {"hidden_act", "silu"},
          {"mlp_bias", false},
          {"model_type", "llama"},
          {"rms_norm_eps", 1e-5},
          {"tie_word_embeddings", true},
          {"torch_dtype", "bfloat16"}};
}

nlohmann::json llama3_2() {
  nlohmann::json config = llama();
  config.update({{"intermediate_size", 8192},
                 {"max_position_embeddings", 131072},
                 {"num_key_value_heads", 8},
                 {"rope_scaling",
                  {{"factor", 32.0},
                   {"high_freq_factor", 4.0},
                   {"low_freq_factor", 1.0},
                   {"original_max_position_embeddings", 8192},
                   {"rope_type", "llama3"}}},
                 {"rope_theta", 500000.0},
                 {"vocab_size", 128256}});
  return config;
}

nlohmann::json llama3_2_1b() {
  nlohmann::json config = llama3_2();
  config.update({{"head_dim", 64},
                 {"hidden_size", 2048},
                 {"num_attention_heads", 32},
                 {"num_hidden_layers", 16}});
  return config;
}

nlohmann::json llama3_2_3b() {
  nlohmann::json config = llama3_2();
  config.update({{"head_dim", 128},
                 {"hidden_size", 3072},
                 {"num_attention_heads", 24},
                 {"num_hidden_layers", 28}});
  return config;
}

nlohmann::json smallest() {
  nlohmann::json config = llama();
  config.update({{"head_dim", 16},
                 {"hidden_size", 64},
                 {"intermediate_size", 128},
                 {"max_position_embeddings", 512},
                 {"num_attention_heads", 4},
                 {"num_hidden_layers", 1},
                 {"num_key_value_heads", 2},
                 {"rope_theta", 10000.0},
                 {"vocab_size", 1536}});
  return config;
}

using MakeShape = nlohmann::json (*)();
const std::map<std::string, MakeShape> kShapes{
    {"llama3_2-1b", llama3_2_1b}, {"llama3_2-3b", llama3_2_3b}, {"smallest", smallest}};

}  // namespace

std::vector<std::string> model_shape_names() {
  std::vector<std::string> names;
  for (const auto& [name, make] : kShapes) names.push_back(name);
  return names;
}

nlohmann::json model_shape(const std::string& name) {
  const auto found = kShapes.find(name);
  if (found == kShapes.end()) fail({.what = "no shape has this name", .found = "'" + name + "'"});
  return found->second();
}

void write_random_checkpoint(const fs::path& folder, const nlohmann::json& config, uint64_t seed) {
  const fs::path config_path = folder / "config.json";
  const ModelConfig parsed = parse_model_config(config, config_path.string());
  fs::create_directories(folder);
  for (const char* name : {"tokenizer.json", "tokenizer_config.json"}) {
    write_file(folder / name, MappedFile::open(fs::path(LATHE_MODELS) / "tiny" / name).bytes());
  }
  const std::string text = config.dump(2) + "\n";
  write_file(config_path, std::as_bytes(std::span(text)));
  write_weights(folder / "model.safetensors", parsed, seed);
}

}  // namespace lathe::testing
