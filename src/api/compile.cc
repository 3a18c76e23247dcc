#include "lathe/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "api/calibration_batches.h"
#include "api/embedded_checkpoint.h"
#include "api/float_model.h"
#include "api/magnitudes.h"
#include "api/process.h"
#include "artifact/write.h"
#include "graph/verifier.h"
#include "passes/equalize_columns.h"
#include "passes/equalize_keys.h"
#include "passes/pipelines.h"
#include "quant/accuracy_report.h"
#include "quant/quantizer.h"
#include "quant/recipe_library.h"
#include "quant/recipe_overrides.h"
#include "quant/weight_choice.h"
#include "support/error.h"
#include "support/thread_pool.h"
#include "text/text_model.h"

namespace lathe {
namespace {

constexpr int64_t kDefaultContext = 1024;
constexpr int64_t kDefaultPrefill = 64;
// Longer calibration sequences would see farther positions, at a cost that grows with the square.
constexpr int64_t kCalibrationLength = 1024;

Variant variant_named(const std::string& name) {
  for (const Variant variant : {Variant::hf, Variant::hf_mainline, Variant::static_form}) {
    if (name_of(variant) == name) return variant;
  }
  fail({.what = "there is no such variant",
        .expected = "hf, hf_mainline or static",
        .found = printable(name, 40)});
}

Target target_named(const std::string& name) {
  for (const Target target : {Target::cpu, Target::htp}) {
    if (name_of(target) == name) return target;
  }
  fail({.what = "there is no such target", .expected = "cpu or htp", .found = printable(name, 40)});
}

RecipeFacts facts_of(const ModelConfig& config) {
  return {config.model_type, config.vocab_size, config.hidden_size, config.intermediate_size,
          config.layers,     config.heads,      config.kv_heads};
}

/// What calibration finds out about a model.
struct Calibration {
  RangeTable ranges;
  std::optional<ProductSamples> samples;  ///< where weight scales are searched, or for a report
};

/// Runs the float graph over every batch.
Calibration observe(const std::shared_ptr<const Checkpoint>& checkpoint,
                    std::span<const CalibrationBatch> batches, const FloatForm& form,
                    bool with_samples, int threads, ThreadPool& pool) {
  const auto length = static_cast<int64_t>(batches.front().tokens.size());
  const Graph graph = float_graph(checkpoint, {GraphRole::calibrate, length, length}, form);
  Calibration found;
  if (with_samples) found.samples.emplace(graph);
  FloatModel model(checkpoint, threads, FloatExecutor::fast, form);
  const FloatRun run = [&](const CalibrationBatch& batch, const FloatObserver& observer) {
    model.run(batch, [&](ValueId id, const TensorView& view) {
      if (view.dtype != DType::f32) return;
      const std::span<const float> numbers{view.as<float>(),
                                           static_cast<size_t>(elements(view.shape))};
      observer(id, numbers);
      if (found.samples) found.samples->observe(id, numbers);
    });
  };
  found.ranges = calibrate(graph, run, batches, pool);
  return found;
}

/// The context and the prefill width that the options mean for this model.
struct Sizes {
  int64_t context = 0;
  int64_t prefill = 0;
};

Sizes choose_sizes(const ModelConfig& config, const CompileOptions& options, const Recipe& recipe) {
  const int64_t limit = config.max_position_embeddings;
  Sizes sizes;
  sizes.context = options.context.value_or(std::min(kDefaultContext, limit));
  if (sizes.context > limit) {
    fail({.what = "--context is longer than the model's positions",
          .expected = "at most " + std::to_string(limit),
          .found = std::to_string(sizes.context)});
  }
  sizes.prefill =
      options.prefill.value_or(std::min(recipe.prefill.value_or(kDefaultPrefill), sizes.context));
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

/// What decides the artifact's content, besides the checkpoint and the recipe.
nlohmann::json options_json(const CompileOptions& options, const Sizes& sizes) {
  return {{"variant", options.variant},
          {"target", options.target},
          {"prefill", sizes.prefill},
          {"disabled_passes", options.disabled_passes},
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

/// Text and parsed form of the recipe that the options mean for this model.
struct ChosenRecipe {
  std::string text;
  Recipe recipe;
};

ChosenRecipe choose_recipe(const ModelConfig& config, const CompileOptions& options) {
  const RecipeText found =
      options.recipe == "auto" ? choose_recipe(facts_of(config)) : find_recipe(options.recipe);
  RecipeOverrides overrides;
  if (options.quant != "auto") overrides.dtype = options.quant;
  overrides.block = options.block;
  overrides.kv_bits = options.kv_bits;
  overrides.seq_mse = options.seq_mse;
  if (options.r3) overrides.r3 = true;
  ChosenRecipe chosen{override_recipe(found.text, overrides, found.where), {}};
  chosen.recipe = parse_recipe(chosen.text, found.where);
  return chosen;
}

void check_pass_names(const std::vector<std::string>& names) {
  const std::vector<std::string_view> known = pass_names();
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    fail({.what = "there is no such pass",
          .expected = fmt::format("one of {}", fmt::join(known, ", ")),
          .found = printable(name, 40)});
  }
}

/// Without some passes a graph can be looked at, but is none that runs.
void require_needed(std::span<const Pass> passes, const PassControl& control) {
  for (const Pass& pass : passes) {
    if (!pass.needed || !control.leaves_out(pass)) continue;
    fail({.what = fmt::format("without the pass {} there is no integer graph: nothing is written",
                              pass.name),
          .advice = "see the graphs with --print-after"});
  }
}

/// Float graphs of one model, in the order in which they are quantized: decode first, which is the
/// one that `shown` sees.
std::vector<Graph> build_graphs(const std::shared_ptr<const Checkpoint>& checkpoint,
                                const Sizes& sizes, const FloatForm& form,
                                const PassControl& shown) {
  FloatForm decode = form;
  decode.control = shown;
  std::vector<Graph> graphs;
  graphs.push_back(float_graph(checkpoint, {GraphRole::decode, 1, sizes.context}, decode));
  if (sizes.prefill > 1) {
    graphs.push_back(
        float_graph(checkpoint, {GraphRole::prefill, sizes.prefill, sizes.context}, form));
  }
  return graphs;
}

/// What a recipe's "transforms" means for the model of `graph`: the same numbers, easier to
/// quantize.
GraphTransform transforms_of(Graph graph, const Magnitudes& magnitudes,
                             const PassControl& control) {
  const auto rotate = [keys = magnitudes.keys, control](Graph& other) {
    equalize_keys(other, keys);
    run_passes(other, rotations(), control);
  };
  rotate(graph);
  return [rotate, factors = column_factors(graph, magnitudes.norms)](Graph& other) {
    rotate(other);
    equalize_columns(other, factors);
  };
}

/// The passes on every graph; the observer of the control sees the first.
void run_on_all(std::vector<Graph>& graphs, std::span<const Pass> passes, PassControl control) {
  for (Graph& graph : graphs) {
    run_passes(graph, passes, control);
    control.after = {};
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
  check_pass_names(options.disabled_passes);
  FloatForm form{variant_named(options.variant), target_named(options.target)};
  form.control.disabled = options.disabled_passes;
  const Pipeline pipeline = pipeline_of(form.variant, form.target);
  if (!options.after_pass) {
    require_needed(pipeline.annotate, form.control);
    require_needed(pipeline.lower, form.control);
  }
  if (options.recipe != "auto") find_recipe(options.recipe);
  const std::shared_ptr<const Checkpoint> checkpoint = open_source(source);
  if (checkpoint->text().tokenizer_json.empty()) {
    fail({.what = "the model has no tokenizer.json",
          .where = source.string(),
          .advice = "save its tokenizer again with a fast tokenizer"});
  }
  for (const std::string& warning : checkpoint->warnings()) progress(warning);
  const ModelConfig& config = checkpoint->config();
  const auto [recipe_text, recipe] = choose_recipe(config, options);
  const bool mainline = form.variant == Variant::hf_mainline;
  if (mainline && (options.r3 || options.kv_bits == 8)) {
    fail({.what = "hf_mainline has neither R3 nor 8-bit caches: it is how things were before"});
  }
  const Sizes sizes = choose_sizes(config, options, recipe);
  const TextAssets& assets = checkpoint->text();
  const TextModel text = TextModel::open(assets.tokenizer_json, assets.tokenizer_config_json,
                                         assets.chat_template, source.string());
  const std::vector<CalibrationBatch> batches =
      calibration_batches(text, options.calibration, options.calibration_tokens,
                          std::min(kCalibrationLength, config.max_position_embeddings));

  progress("building graphs");
  form.control.options = {recipe.activation, mainline ? 16 : recipe.kv_bits, recipe.r3,
                          recipe.masked_softmax};
  PassControl shown = form.control;
  shown.after = options.after_pass;
  std::vector<Graph> graphs = build_graphs(checkpoint, sizes, form, shown);
  const std::vector<WeightChoice> weights = choose_weights(recipe, graphs.front());
  shown.options.products = other_activations(recipe, weights);
  if (options.explain) options.explain(explain(recipe, weights));
  if (recipe.transforms && !mainline) {
    form.transform =
        transforms_of(graphs.front(), find_magnitudes(checkpoint, batches, threads), form.control);
    for (Graph& graph : graphs) form.transform(graph);
  }

  run_on_all(graphs, pipeline.annotate, shown);
  require_needed(pipeline.annotate, form.control);

  progress("calibrating");
  ThreadPool pool(threads);
  const Calibration calibration =
      observe(checkpoint, batches, form, recipe.seq_mse > 0 || options.report, threads, pool);

  progress("quantizing");
  const WeightPlan plan{formats_of(weights), recipe.seq_mse,
                        calibration.samples ? &*calibration.samples : nullptr};
  if (options.report) {
    options.report(describe(product_accuracies(graphs.front(), weights, plan, pool)));
  }
  graphs = quantize_model(graphs, calibration.ranges, recipe.headroom, plan, pool).graphs;
  run_on_all(graphs, pipeline.lower, shown);
  require_needed(pipeline.lower, form.control);
  for (const Graph& graph : graphs) verify(graph, true);

  progress("writing");
  Model model;
  model.graphs = std::move(graphs);
  model.text = {assets.tokenizer_json, assets.tokenizer_config_json, assets.chat_template};
  model.generation = {checkpoint->generation().eos_ids, checkpoint->generation().bos_id};
  model.facts = {config.model_type, config.vocab_size, config.layers, sizes.context};
  model.recipe_json = recipe_text;
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
