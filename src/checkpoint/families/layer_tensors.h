#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/config.h"

namespace lathe {

/// Collects the tensors of one decoder layer under Hugging Face's names.
class LayerTensors {
 public:
  /// `prefix`: "model.layers.3."
  LayerTensors(std::string prefix, std::vector<TensorInfo>& tensors)
      : prefix_(std::move(prefix)), tensors_(tensors) {}

  void norm(std::string_view name, int64_t size);
  void linear(std::string_view name, int64_t out, int64_t in, bool bias);

 private:
  std::string prefix_;
  std::vector<TensorInfo>& tensors_;
};

/// Norms before attention and MLP; q, k, v, o, gate, up, down apart.
void add_llama_layer(const ModelConfig& config, LayerTensors& layer);
/// Norms before and after attention and MLP.
void add_gemma2_layer(const ModelConfig& config, LayerTensors& layer);
/// q, k, v in one weight, gate and up in one.
void add_phi3_layer(const ModelConfig& config, LayerTensors& layer);
/// Norms after attention and MLP only.
void add_olmo2_layer(const ModelConfig& config, LayerTensors& layer);
/// Gate and up in one weight.
void add_glm_layer(const ModelConfig& config, LayerTensors& layer);

}  // namespace lathe
