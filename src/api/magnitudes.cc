#include "api/magnitudes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "api/float_model.h"

namespace lathe {
namespace {

/// Keys of one layer as the cache takes them: [1, Hkv, D, tokens].
void include_keys(const TensorView& keys, std::vector<float>& magnitudes) {
  const int64_t tokens = keys.shape[3];
  magnitudes.resize(static_cast<size_t>(keys.shape[1] * keys.shape[2]), 0.0f);
  const float* number = keys.as<float>();
  for (float& magnitude : magnitudes) {
    for (int64_t token = 0; token < tokens; ++token) {
      magnitude = std::max(magnitude, std::fabs(*number++));
    }
  }
}

/// Sums of magnitudes, channel by channel.
struct Sums {
  std::vector<double> magnitudes;  // [width]
  int64_t rows = 0;

  /// Rows [..., width].
  void include(const TensorView& view) {
    const auto width = static_cast<size_t>(view.shape.back());
    magnitudes.resize(width, 0.0);
    const float* number = view.as<float>();
    const int64_t count = elements(view.shape) / static_cast<int64_t>(width);
    for (int64_t row = 0; row < count; ++row) {
      for (double& sum : magnitudes) sum += std::fabs(*number++);
    }
    rows += count;
  }

  std::vector<float> means() const {
    std::vector<float> result;
    for (const double sum : magnitudes) {
      result.push_back(static_cast<float>(sum / static_cast<double>(rows)));
    }
    return result;
  }
};

/// The values that hold each layer's new keys, by id.
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

/// The modules of the norms, by the id of what leaves them.
std::map<ValueId, std::string> norm_values(const Graph& graph) {
  std::map<ValueId, std::string> values;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.op == Op::rms_norm) values[node.output()] = node.module;
  }
  return values;
}

}  // namespace

Magnitudes find_magnitudes(const std::shared_ptr<const Checkpoint>& checkpoint,
                           std::span<const CalibrationBatch> batches, int threads) {
  Magnitudes found;
  found.keys.resize(static_cast<size_t>(checkpoint->config().layers));
  FloatModel model(checkpoint, threads);
  std::map<ValueId, size_t> layer_of;  // ids are the same for graphs of any length
  std::map<ValueId, std::string> module_of;
  std::map<std::string, Sums> sums;
  for (const CalibrationBatch& batch : batches) {
    model.run(batch, [&](ValueId id, const TensorView& view) {
      if (layer_of.empty()) {
        layer_of = key_values(model.graph(), found.keys.size());
        module_of = norm_values(model.graph());
      }
      if (const auto key = layer_of.find(id); key != layer_of.end()) {
        include_keys(view, found.keys[key->second]);
      }
      if (const auto norm = module_of.find(id); norm != module_of.end()) {
        sums[norm->second].include(view);
      }
    });
  }
  for (const auto& [module, sum] : sums) found.norms[module] = sum.means();
  return found;
}

}  // namespace lathe
