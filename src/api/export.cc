#include "lathe/export.h"

#include <fmt/format.h>

#include <chrono>
#include <set>
#include <system_error>
#include <utility>

#include "api/process.h"
#include "api/shard_plan.h"
#include "artifact/format.h"
#include "artifact/manifest.h"
#include "artifact/read.h"
#include "artifact/write.h"
#include "executors/ort/chips.h"
#include "executors/ort/context.h"
#include "executors/ort/library.h"
#include "executors/ort/onnx_writer.h"
#include "executors/ort/qnn_dump.h"
#include "passes/pipelines.h"
#include "passes/shards.h"
#include "quant/recipe.h"
#include "support/error.h"
#include "support/mapped_file.h"
#include "support/output_file.h"
#include "support/output_folder.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHostFile = "host.lathe";
constexpr size_t kMaxDump = size_t{1} << 30;

/// A graph of the model, and the parts that it is cut into, in the order in which they run.
struct PreparedGraph {
  Graph whole;
  std::vector<Graph> parts;
};

/// "decode", or "decode.1" where there are several.
std::string part_name(const Graph& graph, size_t index, size_t count) {
  const std::string role(name_of(graph.role()));
  return count == 1 ? role : role + "." + std::to_string(index);
}

/// All exports run on 8-bit activations or more, but not every chip has every product.
void check_chip(const Chip& chip, const std::vector<PreparedGraph>& graphs) {
  const auto need = [&](int arch, const std::string& what) {
    if (chip.arch >= arch) return;
    fail({.what = "the chip does not have what the model needs",
          .where = std::string(chip.name),
          .expected = fmt::format("HTP V{} or newer for {}", arch, what),
          .found = fmt::format("V{}", chip.arch),
          .advice = "compile the model in another way or choose another --soc"});
  };
  if (graphs.size() > 1)
    need(kWeightSharingArch, "two graphs that share weights (--prefill 1 makes one)");
  for (const PreparedGraph& graph : graphs) {
    for (const IoTensor& input : graph.whole.io().inputs) {
      if (holds_cache(input.name) && input.dtype == DType::u16)
        need(kWideCacheArch, "16-bit caches");
    }
    for (ValueId id = 0; id < graph.whole.value_count(); ++id) {
      const Value& value = graph.whole.value(id);
      if (value.encoding && value.encoding->block > 0) need(kBlockWeightsArch, "weights in blocks");
    }
  }
}

/// A part of the model, written as ONNX and to be compiled.
struct PendingContext {
  size_t part = 0;
  std::string estimate;
  std::string binary;   ///< the file to compile to
  std::string weights;  ///< of the ONNX files
  std::vector<std::string> graphs = {};
};

class Exporter {
 public:
  Exporter(const fs::path& artifact, const fs::path& output, const ExportOptions& options)
      : options_(options), output_(output, kManifestName) {
    if (options.format == "htp") chip_ = find_chip(options.soc);
    if (chip_) OrtLibrary::open().htp();
    progress("reading the model");
    model_ = read_model(artifact);
    manifest_.format = options.format;
    manifest_.model_hash = describe_file(artifact.parent_path(), artifact.filename().string()).hash;
  }

  ExportReport run() {
    prepare_graphs();
    if (embedding_on_host_) write_host_part();
    const size_t first = embedding_on_host_ ? 1 : 0;
    for (size_t part = first; part < graphs_.front().parts.size(); ++part) {
      write_part(part, part - first, graphs_.front().parts.size() - first);
    }
    if (chip_) compile_contexts();
    write_text(kTokenizerName, model_.text.tokenizer_json);
    write_text(kTokenizerConfigName, model_.text.tokenizer_config_json);
    write_text(kChatTemplateName, model_.text.chat_template);
    write_manifest();
    output_.commit();
    report_.peak_rss_bytes = peak_rss_bytes();
    return report_;
  }

 private:
  void progress(const std::string& what) const {
    if (options_.progress) options_.progress(what);
  }

  void prepare_graphs() {
    progress("preparing graphs");
    const Target target = chip_ ? Target::htp : Target::cpu;
    for (const Graph& graph : model_.graphs) {
      PreparedGraph& prepared = graphs_.emplace_back(PreparedGraph{graph, {}});
      run_passes(prepared.whole, export_pipeline(target), {});
    }
    if (chip_) check_chip(*chip_, graphs_);
    const Recipe recipe = parse_recipe(model_.recipe_json, "recipe of the model");
    embedding_on_host_ =
        options_.embedding_on_host.value_or(chip_.has_value() && recipe.host_embedding);
    ShardOptions shards{.count = 1, .embedding_first = embedding_on_host_};
    if (options_.shards) {
      shards.count = *options_.shards;
    } else if (chip_) {
      shards.count = recipe.shards;
      ContextGraphs whole;
      for (const PreparedGraph& graph : graphs_) whole.push_back(&graph.whole);
      shards.count = plan_shards(whole, shards);
    }
    report_.shards = shards.count;
    for (PreparedGraph& graph : graphs_) {
      graph.parts = split_layers(graph.whole, shards);
      manifest_.graphs.push_back({graph.whole.io(), {}});
    }
  }

  /// The rows of the embedding, which the host looks up: graphs that an executor here runs.
  void write_host_part() {
    Model host = model_;
    host.graphs.clear();
    host.text = {};
    for (size_t i = 0; i < graphs_.size(); ++i) {
      const Graph& graph = graphs_[i].parts.front();
      host.graphs.push_back(graph);
      manifest_.graphs[i].parts.push_back({.file = kHostFile, .io = graph.io()});
    }
    write_model(host, output_.path() / kHostFile);
    files_.insert(kHostFile);
  }

  /// The same part of every graph: they share their weights, and on a chip their context.
  void write_part(size_t part, size_t index, size_t count) {
    std::vector<NamedGraph> graphs;
    ContextGraphs context;
    for (size_t i = 0; i < graphs_.size(); ++i) {
      const Graph& graph = graphs_[i].parts[part];
      graphs.push_back({part_name(graph, index, count), &graph});
      context.push_back(&graph);
      const std::string file = graphs.back().name + ".onnx";
      manifest_.graphs[i].parts.push_back({.file = file, .io = graph.io()});
      files_.insert(file);
    }
    const ContextEstimate estimate = estimate_context(context);
    report_.weight_bytes += estimate.weight_bytes;
    const std::string suffix = count == 1 ? ".bin" : "." + std::to_string(index) + ".bin";
    if (!chip_) {
      progress(fmt::format("writing graphs {} of {}", index + 1, count));
      write_onnx(graphs, output_.path(), "weights" + suffix);
      files_.insert("weights" + suffix);
      return;
    }
    require_fit(estimate);
    PendingContext pending{part, describe(estimate), "context" + suffix,
                           "simulator.weights" + suffix};
    for (const NamedGraph& graph : graphs) pending.graphs.push_back(graph.name);
    fs::create_directories(work());
    write_onnx(graphs, work(), pending.weights);
    pending_.push_back(std::move(pending));
  }

  /// Where ONNX files wait for the compiler.
  fs::path work() const { return output_.path() / "work"; }

  /// The compiler holds a model's weights several times over: those of the artifact go first.
  void compile_contexts() {
    graphs_.clear();
    model_.graphs.clear();
    for (size_t i = 0; i < pending_.size(); ++i) {
      progress(fmt::format("compiling context {} of {}: {}", i + 1, pending_.size(),
                           pending_[i].estimate));
      compile(pending_[i]);
    }
    fs::remove_all(work());
  }

  void compile(const PendingContext& pending) {
    const fs::path dump = work() / "dump";
    fs::create_directories(dump);
    compile_context(
        work(), pending.graphs, output_.path(), pending.binary,
        {.htp = {.chip = *chip_, .optimization = options_.optimization}, .graph_dump = dump});
    files_.insert(pending.binary);
    report_.context_bytes += static_cast<int64_t>(fs::file_size(output_.path() / pending.binary));
    const auto keep = [&](const fs::path& from, const std::string& name) {
      fs::rename(from, output_.path() / name);
      files_.insert(name);
    };
    if (options_.simulator) keep(work() / pending.weights, pending.weights);
    for (size_t i = 0; i < pending.graphs.size(); ++i) {
      ExportedPart& part = manifest_.graphs[i].parts[pending.part];
      part.compiled = read_dump(dump / (pending.graphs[i] + ".json"));
      if (!options_.simulator) continue;
      part.simulator_file = "simulator." + part.file;
      keep(work() / part.file, part.simulator_file);
    }
  }

  /// What the compiler made of a graph; kept as well where the caller wants it.
  CompiledGraph read_dump(const fs::path& path) const {
    const std::string text = read_text_file(path, kMaxDump);
    const CompiledGraph compiled = summarize_qnn_dump(text, path.string());
    if (!options_.graph_dump.empty()) {
      OutputFile file(options_.graph_dump / path.filename());
      file.write(text);
      file.commit();
    }
    return compiled;
  }

  void write_text(std::string_view name, const std::string& text) {
    if (text.empty()) return;
    OutputFile file(output_.path() / name);
    file.write(text);
    file.commit();
    files_.emplace(name);
  }

  void write_manifest() {
    if (chip_) {
      manifest_.chip =
          ExportedChip{std::string(chip_->name), chip_->id, chip_->arch, chip_->vtcm_mb};
      const HtpProvider& htp = OrtLibrary::open().htp();
      manifest_.versions["onnxruntime"] = OrtLibrary::open().version();
      manifest_.versions["onnxruntime-qnn"] = htp.version;
      manifest_.versions["qnn"] = htp.sdk;
    }
    manifest_.versions["lathe"] = LATHE_VERSION;
    manifest_.facts = model_.facts;
    manifest_.generation = model_.generation;
    manifest_.provenance = model_.provenance;
    for (const std::string& name : files_) {
      manifest_.files.push_back(describe_file(output_.path(), name));
      report_.folder_bytes += manifest_.files.back().bytes;
    }
    const std::string text = manifest_json(manifest_);
    OutputFile file(output_.path() / kManifestName);
    file.write(text);
    file.commit();
    report_.folder_bytes += static_cast<int64_t>(text.size());
  }

  const ExportOptions& options_;
  OutputFolder output_;
  std::optional<Chip> chip_;
  Model model_;
  bool embedding_on_host_ = false;
  std::vector<PreparedGraph> graphs_;
  std::vector<PendingContext> pending_;
  Manifest manifest_;
  std::set<std::string> files_;
  ExportReport report_;
};

void make_dump_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error) return;
  fail({.what = "cannot make the folder", .where = folder.string(), .found = error.message()});
}

void check_options(const ExportOptions& options) {
  if (options.format != "onnx" && options.format != "htp") {
    fail({.what = "there is no such format",
          .expected = "onnx or htp",
          .found = printable(options.format, 40)});
  }
  if (options.format == "htp" && options.soc.empty()) {
    fail({.what = "--format htp needs a chip", .advice = "add --soc SM8750, for instance"});
  }
  if (options.format == "onnx" && !options.soc.empty()) {
    fail({.what = "--soc is for --format htp: ONNX graphs are for any chip"});
  }
  if (options.format == "onnx" && !options.graph_dump.empty()) {
    fail({.what = "--graph-dump is for --format htp: nothing is compiled for ONNX graphs"});
  }
}

}  // namespace

ExportReport export_model(const fs::path& artifact, const fs::path& output,
                          const ExportOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  check_options(options);
  if (!options.graph_dump.empty()) make_dump_folder(options.graph_dump);
  ExportReport report = Exporter(artifact, output, options).run();
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace lathe
