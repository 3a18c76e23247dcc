#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "passes/pass.h"

namespace lathe {

/// The same model in three forms, to be measured side by side.
enum class Variant : uint8_t {
  hf,           ///< Hugging Face's graph, turned
  hf_mainline,  ///< Hugging Face's graph as it was traced, only quantized: how it was before
  static_form   ///< built by hand in the final form: what `hf` has to reach
};
std::string_view name_of(Variant variant);  ///< "hf", "hf_mainline", "static"

/// What the graph is to run on.
enum class Target : uint8_t {
  cpu,  ///< grouped key-value heads stay together
  htp   ///< Qualcomm's NPU: attention head by head, silu as x * sigmoid(x)
};
std::string_view name_of(Target target);

/// The passes of one variant for one target, in order. Between `build` and `annotate` come
/// calibration's transforms, between `annotate` and `lower` the encodings (src/quant).
struct Pipeline {
  std::vector<Pass> build;     ///< from what the frontend gives to a static float graph
  std::vector<Pass> annotate;  ///< which value becomes what
  std::vector<Pass> lower;     ///< from quantize and dequantize nodes to an integer graph
};
Pipeline pipeline_of(Variant variant, Target target);

/// What a recipe with "transforms" adds before annotation.
std::span<const Pass> rotations();

/// What an integer graph, of an artifact for whichever target, still needs to be exported for one:
/// the operators that ONNX has, and attention head by head on an NPU. Every code stays as it is but
/// those of silu, which become those of x * sigmoid(x).
std::span<const Pass> export_pipeline(Target target);

/// Names of all passes of all pipelines, sorted.
std::vector<std::string_view> pass_names();

/// How passes are run.
struct PassControl {
  PassOptions options = {};
  std::vector<std::string> disabled = {};  ///< names of passes to leave out
  /// Called with every graph after every pass that ran.
  std::function<void(std::string_view name, const Graph& graph)> after = {};

  bool leaves_out(const Pass& pass) const;
};

/// Runs the passes in order; the verifier looks at the graph after each.
void run_passes(Graph& graph, std::span<const Pass> passes, const PassControl& control = {});

}  // namespace lathe
