#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lathe::testing {

/// Names that model_shape() knows: published models, and "smallest".
std::vector<std::string> model_shape_names();
/// config.json of a model with the shape of `name`. Its special tokens are those of models/tiny,
/// whose tokenizer goes with it. Throws Error for an unknown name.
nlohmann::json model_shape(const std::string& name);

/// Writes a Hugging Face folder for `config`: config.json, model.safetensors in bf16 and the
/// tokenizer of models/tiny. Weights are normal numbers spread as in a trained model: matrices and
/// biases 0 +- 0.02, norms 1 +- 0.05. The same config and seed give the same bytes. Weights are
/// made and written a piece at a time. Throws Error for a config that no checkpoint may have, and
/// where files cannot be written.
void write_random_checkpoint(const std::filesystem::path& folder, const nlohmann::json& config,
                             uint64_t seed);

}  // namespace lathe::testing
