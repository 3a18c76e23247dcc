#pragma once

#include <span>
#include <string>
#include <string_view>

#include "checkpoint/config.h"
#include "checkpoint/families/layer_tensors.h"
#include "support/json.h"

namespace lathe {

/// A model family: what its config.json calls it, how its fields are read and which weights a layer
/// of it has. Both follow the family's configuration and modeling code in transformers.
struct Family {
  std::string_view model_type;
  /// Fills in all of `out` but model_type. Throws Error by the name of the field.
  void (*read)(const JsonFields& config, ModelConfig& out);
  void (*add_layer)(const ModelConfig& config, LayerTensors& layer);
};

std::span<const Family> families();

/// Nullptr where Lathe does not know the family.
const Family* find_family(std::string_view model_type);

void read_llama(const JsonFields& config, ModelConfig& out);
void read_mistral(const JsonFields& config, ModelConfig& out);
void read_qwen2(const JsonFields& config, ModelConfig& out);
void read_qwen3(const JsonFields& config, ModelConfig& out);
void read_smollm3(const JsonFields& config, ModelConfig& out);
void read_granite(const JsonFields& config, ModelConfig& out);
void read_gemma(const JsonFields& config, ModelConfig& out);
void read_gemma2(const JsonFields& config, ModelConfig& out);
void read_gemma3_text(const JsonFields& config, ModelConfig& out);
void read_phi3(const JsonFields& config, ModelConfig& out);
void read_olmo2(const JsonFields& config, ModelConfig& out);
void read_glm(const JsonFields& config, ModelConfig& out);

}  // namespace lathe
