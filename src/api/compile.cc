#include "lathe/compile.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "api/calibration_batches.h"
#include "api/embedded_checkpoint.h"
#include "api/float_model.h"
#include "api/key_magnitudes.h"
#include "api/process.h"
#include "artifact/write.h"
#include "passes/equalize_keys.h"
#include "passes/pipelines.h"
#include "quant/quantizer.h"
#include "quant/recipe_library.h"
#include "support/error.h"
#include "support/thread_pool.h"
#include "text/text_model.h"

namespace lathe {
namespace {

constexpr int64_t kDefaultContext = 1024;
constexpr int64_t kDefaultPrefill = 32;
// Longer calibration sequences would see farther positions, at a cost that grows with the square.
constexpr int64_t kCalibrationLength = 1024;

/// The context and the prefill width that the options mean for this model.
struct Sizes {
  int64_t context = 0;
  int64_t prefill = 0;
};

Sizes choose_sizes(const ModelConfig& config, const CompileOptions& options) {
  const int64_t limit = config.max_position_embeddings;
  Sizes sizes;
  sizes.context = options.context.value_or(std::min(kDefaultContext, limit));
  if (sizes.context > limit) {
    fail({.what = "--context is longer than the model's positions",
          .expected = "at most " + std::to_string(limit),
          .found = std::to_string(sizes.context)});
  }
  sizes.prefill = options.prefill.value_or(std::min(kDefaultPrefill, sizes.context));
  if (sizes.prefill > sizes.context) {
    fail({.what = "--prefill is longer than the context",
          .expected = "at most " + std::to_string(sizes.context),
          .found = std::to_string(sizes.prefill)});
  }
  return sizes;
}

int64_t parameter_count(const Checkpoint& checkpoint) {
  int64_t count = 0;
  for (const TensorInfo& tensor : checkpoint.tensors()) count += elements(tensor.shape);
  return count;
}

int64_t constant_bytes(const std::vector<Graph>& graphs) {
  int64_t bytes = 0;
  std::set<std::string> counted;
  for (const Graph& graph : graphs) {
    for (const NodeId id : graph.order()) {
      for (const ValueId input : graph.node(id).inputs) {
        const Value& value = graph.value(input);
        if (value.is_constant() && counted.insert(value.constant->name).second) {
          bytes += value.constant->byte_count;
        }
      }
    }
  }
  return bytes;
}

/// The last part of the path: where a model lay on somebody's disk is nobody's business.
std::string source_name(const std::filesystem::path& source) {
  return source.has_filename() ? source.filename().string()
                               : source.parent_path().filename().string();
}

/// What decides the artifact's content, besides the checkpoint.
nlohmann::json options_json(const CompileOptions& options, const Sizes& sizes) {
  return {{"prefill", sizes.prefill},
          {"calibration", options.calibration.filename().string()},
          {"calibration_tokens", options.calibration_tokens}};
}

/// Fails now rather than after minutes of work.
void check_output(const std::filesystem::path& output) {
  const std::filesystem::path folder =
      output.has_parent_path() ? output.parent_path() : std::filesystem::path(".");
  if (!std::filesystem::is_directory(folder)) {
    fail({.what = "the folder to write to does not exist", .where = folder.string()});
  }
  if (std::filesystem::is_directory(output)) {
    fail({.what = "cannot write the file", .where = output.string(), .found = "a folder"});
  }
}

}  // namespace

CompileReport compile(const std::filesystem::path& source, const std::filesystem::path& output,
                      const CompileOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const auto progress = [&](std::string_view what) {
    if (options.progress) options.progress(what);
  };
  const int threads = thread_count(options.threads);

  // Whatever can be wrong with the input is found before work starts.
  check_output(output);
  const RecipeText recipe_text = find_recipe(options.recipe);
  const Recipe recipe = parse_recipe(recipe_text.text, recipe_text.where);
  const std::shared_ptr<const Checkpoint> checkpoint = open_source(source);
  if (checkpoint->text().tokenizer_json.empty()) {
    fail({.what = "the model has no tokenizer.json",
          .where = source.string(),
          .advice = "save its tokenizer again with a fast tokenizer"});
  }
  for (const std::string& warning : checkpoint->warnings()) progress(warning);
  const ModelConfig& config = checkpoint->config();
  const Sizes sizes = choose_sizes(config, options);
  const TextAssets& assets = checkpoint->text();
  const TextModel text = TextModel::open(assets.tokenizer_json, assets.tokenizer_config_json,
                                         assets.chat_template, source.string());
  const std::vector<CalibrationBatch> batches =
      calibration_batches(text, options.calibration, options.calibration_tokens,
                          std::min(kCalibrationLength, config.max_position_embeddings));

  progress("building graphs");
  GraphTransform transform;
  if (recipe.transforms) {
    transform = [magnitudes = key_magnitudes(checkpoint, batches, threads)](Graph& graph) {
      equalize_keys(graph, magnitudes);
      run_passes(graph, rotations());
    };
  }
  std::vector<Graph> graphs;
  graphs.push_back(float_graph(checkpoint, {GraphRole::decode, 1, sizes.context}, transform));
  if (sizes.prefill > 1) {
    graphs.push_back(
        float_graph(checkpoint, {GraphRole::prefill, sizes.prefill, sizes.context}, transform));
  }
  const auto length = static_cast<int64_t>(batches.front().tokens.size());
  const Graph calibration =
      float_graph(checkpoint, {GraphRole::calibrate, length, length}, transform);

  progress("calibrating and quantizing");
  Model model;
  {
    FloatModel float_model(checkpoint, threads, FloatExecutor::fast, transform);
    const FloatRun run = [&](const CalibrationBatch& batch, const FloatObserver& observer) {
      float_model.run(batch, [&](ValueId id, const TensorView& view) {
        if (view.dtype != DType::f32) return;
        observer(id, {view.as<float>(), static_cast<size_t>(elements(view.shape))});
      });
    };
    ThreadPool pool(threads);
    model.graphs = quantize_model(graphs, calibration, recipe, run, batches, pool).graphs;
  }

  progress("writing");
  model.text = {assets.tokenizer_json, assets.tokenizer_config_json, assets.chat_template};
  model.generation = {checkpoint->generation().eos_ids, checkpoint->generation().bos_id};
  model.facts = {config.model_type, config.vocab_size, config.layers, sizes.context};
  model.recipe_json = recipe_text.text;
  model.provenance = {checkpoint->fingerprint(), source_name(source), LATHE_VERSION,
                      options_json(options, sizes)};
  CompileReport report;
  report.recipe = recipe.name;
  report.bits_per_weight = 8.0 * static_cast<double>(constant_bytes(model.graphs)) /
                           static_cast<double>(parameter_count(*checkpoint));
  write_model(model, output);
  report.artifact_bytes = static_cast<int64_t>(std::filesystem::file_size(output));
  report.peak_rss_bytes = peak_rss_bytes();
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace lathe
