#include "api/variants.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "api/embedded_checkpoint.h"
#include "api/float_model.h"
#include "artifact/read.h"
#include "executors/cpu/plan.h"
#include "quant/calibration_data.h"
#include "support/error.h"
#include "support/temporary_folder.h"
#include "support/thread_pool.h"
#include "text/text_model.h"

namespace lathe {
namespace {

// In kVariants.
constexpr size_t kStatic = 0;
constexpr size_t kMainline = 1;
constexpr size_t kHf = 2;

constexpr int64_t kContext = 1024;
constexpr size_t kBuiltInTokens = 256;  // enough to tell variants apart, in seconds
constexpr int64_t kWindow = 1024;       // of the evaluated text

void tell(const VariantsOptions& options, const std::string& what) {
  if (options.compile.progress) options.compile.progress(what);
}

std::vector<int64_t> text_ids(const Checkpoint& checkpoint, const VariantsOptions& options,
                              const std::string& where) {
  const TextAssets& assets = checkpoint.text();
  const TextModel text = TextModel::open(assets.tokenizer_json, assets.tokenizer_config_json,
                                         assets.chat_template, where);
  if (options.text) {
    std::vector<int64_t> ids = text.encode_prompt(*options.text);
    if (ids.size() < 2) {
      fail({.what = "the text is too short for a perplexity",
            .expected = "at least 2 tokens",
            .found = std::to_string(ids.size())});
    }
    return ids;
  }
  std::vector<int64_t> ids = text.encode_prompt(default_calibration().texts.front());
  ids.resize(std::min(ids.size(), kBuiltInTokens));
  return ids;
}

/// Tokens in the cache before generation.
int64_t choose_depth(const VariantsOptions& options, int64_t context) {
  const int64_t depth = options.depth.value_or(std::max<int64_t>(context - options.generate, 0));
  if (depth + options.generate > context) {
    fail({.what = "the benchmark needs more tokens than the context",
          .expected = "at most " + std::to_string(context),
          .found = std::to_string(depth + options.generate),
          .advice = "lower -d or -n, or raise --context"});
  }
  return depth;
}

/// A variant while it is measured.
struct Contender {
  Graph decode;  // its weights are mapped from the artifact, which has no name any more
  std::unique_ptr<LanguageModel> model;
};

Contender compile_variant(const std::filesystem::path& source, const std::filesystem::path& folder,
                          const VariantsOptions& options, const std::string& name,
                          VariantsReport& report) {
  VariantResult& result = report.variants.emplace_back();
  result.name = name;
  const std::filesystem::path path = folder / (name + ".lathe");
  CompileOptions compile_options = options.compile;
  compile_options.variant = name;
  compile_options.progress = [&](std::string_view what) {
    tell(options, name + ": " + std::string(what));
  };
  const CompileReport compiled = compile(source, path, compile_options);
  report.recipe = compiled.recipe;
  result.artifact_bytes = compiled.artifact_bytes;
  const Model model = read_model(path, WeightCheck::sizes);
  report.source = model.provenance.source_name;
  Contender contender{model.graph(GraphRole::decode), LanguageModel::open(path, options.open)};
  // What is mapped stays; nobody has to clean up after a run that is killed from here on.
  std::filesystem::remove(path);
  result.summary = summarize(contender.decode);
  result.arena_bytes =
      static_cast<int64_t>(lower(contender.decode, thread_count(options.open.threads)).arena_bytes);
  return contender;
}

void measure_speed(std::vector<Contender>& contenders, int rounds, VariantsReport& report) {
  const int64_t vocab = contenders.front().model->vocab();
  const std::vector<int64_t> ids = scattered_ids(report.depth + report.generate, vocab);
  const auto past = std::span(ids).first(static_cast<size_t>(report.depth));
  const auto rest = std::span(ids).subspan(past.size());
  for (Contender& contender : contenders) {
    contender.model->runner().reset();
    if (!past.empty()) contender.model->runner().prefill(past);
  }
  const auto samples = interleave(contenders.size(), rounds, [&](size_t i) {
    Runner& runner = contenders[i].model->runner();
    runner.truncate(report.depth);
    return generation_speed(runner, rest);
  });
  for (size_t i = 0; i < samples.size(); ++i) report.variants[i].tokens_per_s = samples[i];
  report.hf_over_static = ratios(samples[kHf], samples[kStatic]);
  report.hf_over_hf_mainline = ratios(samples[kHf], samples[kMainline]);
}

void measure_quality(const std::shared_ptr<const Checkpoint>& checkpoint,
                     std::vector<Contender>& contenders, std::span<const int64_t> ids,
                     VariantsReport& report) {
  const int64_t window = std::min(kWindow, report.context);
  const int64_t stride = std::max<int64_t>(window / 2, 1);
  FloatModel float_model(checkpoint, report.threads);
  const RunSequence reference = [&](std::span<const int64_t> piece, const TakeLogits& take) {
    float_model.run(piece, take);
  };
  for (size_t i = 0; i < contenders.size(); ++i) {
    const RunSequence run = [&](std::span<const int64_t> piece, const TakeLogits& take) {
      contenders[i].model->logits(piece, take);
    };
    report.variants[i].perplexity = perplexity(ids, window, stride, run);
    report.variants[i].agreement = compare(ids, window, stride, reference, run);
  }
  report.float_perplexity = perplexity(ids, window, stride, reference).perplexity;
}

}  // namespace

int64_t comparison_context(const Checkpoint& checkpoint, const CompileOptions& options) {
  const int64_t limit = checkpoint.config().max_position_embeddings;
  return options.context.value_or(std::min(kContext, limit));
}

VariantsReport compare_variants(const std::filesystem::path& source,
                                const VariantsOptions& options) {
  require_consistent(options.open);
  const std::shared_ptr<const Checkpoint> checkpoint = open_source(source);
  const int64_t context = comparison_context(*checkpoint, options.compile);
  VariantsOptions chosen = options;
  chosen.compile.context = context;
  chosen.compile.threads = options.open.threads;
  VariantsReport report;
  report.depth = choose_depth(options, context);
  const std::vector<int64_t> ids = text_ids(*checkpoint, options, source.string());

  report.executor = name_of(options.open.executor);
  report.threads = thread_count(options.open.threads);
  report.context = context;
  report.generate = options.generate;
  report.built_in_text = !options.text;

  const TemporaryFolder folder;
  std::vector<Contender> contenders;
  for (const char* name : kVariants) {
    contenders.push_back(compile_variant(source, folder.path(), chosen, name, report));
  }
  report.static_and_hf = diff(contenders[kStatic].decode, contenders[kHf].decode);
  tell(options, "measuring speed");
  measure_speed(contenders, options.rounds, report);
  tell(options, "evaluating");
  measure_quality(checkpoint, contenders, ids, report);
  return report;
}

}  // namespace lathe
