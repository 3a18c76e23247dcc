// Writes a Hugging Face folder of a given shape with random weights, for measurements that need a
// model's size and not its text:
//   random_checkpoint --like llama3_2-1b DIR
//   random_checkpoint --hidden 256 --layers 2 --attention-bias true DIR

#include <CLI/CLI.hpp>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "tools/random_weights.h"

namespace {

/// An option that sets a field of config.json.
template <typename T>
void add_field(CLI::App& app, nlohmann::json& given, const std::string& option,
               const std::string& field) {
  app.add_option_function<T>(
      option, [&given, field](const T& value) { given[field] = value; }, field);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Writes a Hugging Face folder with random bf16 weights.", "random_checkpoint");
  std::string like = "smallest";
  std::filesystem::path folder;
  uint64_t seed = 0;
  nlohmann::json given = nlohmann::json::object();
  app.add_option("DIR", folder, "Folder to write")->required();
  app.add_option("--like", like, "Shape to begin with")
      ->check(CLI::IsMember(lathe::testing::model_shape_names()))
      ->capture_default_str();
  app.add_option("--seed", seed, "Other weights for every seed")->capture_default_str();
  add_field<int64_t>(app, given, "--hidden", "hidden_size");
  add_field<int64_t>(app, given, "--layers", "num_hidden_layers");
  add_field<int64_t>(app, given, "--heads", "num_attention_heads");
  add_field<int64_t>(app, given, "--kv-heads", "num_key_value_heads");
  add_field<int64_t>(app, given, "--head-dim", "head_dim");
  add_field<int64_t>(app, given, "--mlp", "intermediate_size");
  add_field<int64_t>(app, given, "--vocab", "vocab_size");
  add_field<int64_t>(app, given, "--positions", "max_position_embeddings");
  add_field<double>(app, given, "--theta", "rope_theta");
  add_field<bool>(app, given, "--attention-bias", "attention_bias");
  add_field<bool>(app, given, "--mlp-bias", "mlp_bias");
  add_field<bool>(app, given, "--tied", "tie_word_embeddings");
  CLI11_PARSE(app, argc, argv);
  try {
    nlohmann::json config = lathe::testing::model_shape(like);
    config.update(given);
    lathe::testing::write_random_checkpoint(folder, config, seed);
  } catch (const std::exception& error) {
    std::cerr << "random_checkpoint: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
