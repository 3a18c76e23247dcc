#include "api/key_magnitudes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "api/float_model.h"

namespace lathe {
namespace {

/// Keys of one layer as the cache takes them: [1, Hkv, D, tokens].
void include(const TensorView& keys, std::vector<float>& magnitudes) {
  const int64_t tokens = keys.shape[3];
  magnitudes.resize(static_cast<size_t>(keys.shape[1] * keys.shape[2]), 0.0f);
  const float* number = keys.as<float>();
  for (float& magnitude : magnitudes) {
    for (int64_t token = 0; token < tokens; ++token) {
      magnitude = std::max(magnitude, std::fabs(*number++));
    }
  }
}

/// The value that holds each layer's new keys, by id.
std::map<ValueId, size_t> key_values(const Graph& graph, size_t layers) {
  std::map<ValueId, size_t> values;
  for (size_t layer = 0; layer < layers; ++layer) {
    const std::string name = "k_new_" + std::to_string(layer);
    for (const GraphOutput& output : graph.outputs()) {
      if (output.name == name) values[output.value] = layer;
    }
  }
  return values;
}

}  // namespace

KeyMagnitudes key_magnitudes(const std::shared_ptr<const Checkpoint>& checkpoint,
                             std::span<const CalibrationBatch> batches, int threads) {
  KeyMagnitudes magnitudes(static_cast<size_t>(checkpoint->config().layers));
  FloatModel model(checkpoint, threads);
  std::map<ValueId, size_t> layer_of;  // ids are the same for graphs of any length
  for (const CalibrationBatch& batch : batches) {
    model.run(batch, [&](ValueId id, const TensorView& view) {
      if (layer_of.empty()) layer_of = key_values(model.graph(), magnitudes.size());
      const auto found = layer_of.find(id);
      if (found != layer_of.end()) include(view, magnitudes[found->second]);
    });
  }
  return magnitudes;
}

}  // namespace lathe
