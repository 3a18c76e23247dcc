#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>

#include "api/compare_layers.h"
#include "cli/command.h"
#include "cli/inputs.h"
#include "cli/options.h"
#include "cli/output.h"
#include "eval/agreement.h"
#include "eval/perplexity.h"
#include "support/error.h"

namespace lathe::cli {
namespace {

// A step of a model on a simulator takes up to a minute.
constexpr int64_t kDefaultLayerTokens = 8;

struct Arguments {
  std::filesystem::path model;
  OpenOptions open;
  std::filesystem::path text;
  std::filesystem::path against;
  std::optional<int64_t> context;
  std::optional<int64_t> stride;
  bool layers = false;
  int64_t tokens = kDefaultLayerTokens;
  bool json = false;
};

constexpr int64_t kDefaultContext = 1024;

std::vector<int64_t> encode_file(const std::filesystem::path& path, const TextModel& text) {
  std::vector<int64_t> ids = text.encode_prompt(read_text(path));
  if (ids.size() < 2) {
    fail({.what = "the text is too short for a perplexity",
          .where = path.string(),
          .expected = "at least 2 tokens",
          .found = std::to_string(ids.size())});
  }
  return ids;
}

/// The windows that the text is read in.
struct Windows {
  int64_t context = 0;
  int64_t stride = 0;
};

Windows choose_windows(const Arguments& arguments, const LogitsModel& model) {
  const int64_t context = arguments.context.value_or(std::min(kDefaultContext, model.context));
  if (context > model.context) {
    fail({.what = "--context is longer than the model's",
          .expected = fmt::format("at most {}", model.context),
          .found = std::to_string(context)});
  }
  const int64_t stride = arguments.stride.value_or(std::max<int64_t>(context / 2, 1));
  if (stride > context) {
    fail({.what = "--stride is longer than the context and would leave tokens out",
          .expected = fmt::format("at most {}", context),
          .found = std::to_string(stride)});
  }
  return {context, stride};
}

std::optional<LogitsModel> open_against(const Arguments& arguments, const LogitsModel& model) {
  if (arguments.against.empty()) return std::nullopt;
  // The other one is what this machine computes, wherever the model runs.
  OpenOptions open = arguments.open;
  open.soc.clear();
  if (open.executor != ExecutorKind::reference) open.executor = ExecutorKind::cpu;
  LogitsModel reference = open_logits_model(arguments.against, open);

  if (reference.vocab != model.vocab) {
    fail({.what = "the two models have different vocabularies",
          .where = arguments.against.string(),
          .expected = std::to_string(model.vocab),
          .found = std::to_string(reference.vocab)});
  }
  return reference;
}

nlohmann::ordered_json to_json(const ValueDifference& difference) {
  return {{"name", difference.name},
          {"module", difference.module},
          {"operator", difference.op},
          {"sqnr_db", difference.sqnr_db},
          {"worst_codes", difference.worst_codes}};
}

std::string to_line(const ValueDifference& difference) {
  return fmt::format("  {:<32} {:<16} {:>8.1f} dB {:>8} codes\n", difference.module, difference.op,
                     difference.sqnr_db, difference.worst_codes);
}

void run_layers(const Arguments& arguments) {
  std::vector<int64_t> ids = encode_file(arguments.text, open_text(arguments.model));
  ids.resize(std::min(ids.size(), static_cast<size_t>(arguments.tokens)));
  const LayerComparison found = compare_layers(arguments.model, arguments.open, ids);
  if (arguments.json) {
    nlohmann::ordered_json json{{"tokens", ids.size()}, {"layers", nlohmann::json::array()}};
    for (const ValueDifference& layer : found.layers) json["layers"].push_back(to_json(layer));
    if (found.first_departure) json["first_departure"] = to_json(*found.first_departure);
    print_json(json);
    return;
  }
  std::cout << fmt::format("{} against reference, {} tokens\n", name_of(arguments.open.executor),
                           ids.size());
  for (const ValueDifference& layer : found.layers) std::cout << to_line(layer);
  if (found.first_departure) {
    std::cout << fmt::format("first operator below {} dB\n", kDepartsBelow)
              << to_line(*found.first_departure);
  } else {
    std::cout << fmt::format("nothing is below {} dB\n", kDepartsBelow);
  }
}

void run(const Arguments& arguments) {
  if (arguments.layers) return run_layers(arguments);
  const LogitsModel model = open_logits_model(arguments.model, arguments.open);
  const std::optional<LogitsModel> reference = open_against(arguments, model);
  const auto [context, stride] = choose_windows(arguments, model);
  const std::vector<int64_t> ids = encode_file(arguments.text, model.text);

  const Perplexity result = perplexity(ids, context, stride, model.run);
  nlohmann::ordered_json json{{"perplexity", result.perplexity}, {"tokens", result.tokens}};
  std::string text = fmt::format("perplexity {:.4f} over {} tokens (context {}, stride {})\n",
                                 result.perplexity, result.tokens, context, stride);
  if (reference) {
    const Agreement agreement = compare(ids, context, stride, reference->run, model.run);
    json["sqnr_db"] = agreement.sqnr_db;
    json["kl_mean"] = agreement.kl_mean;
    json["kl_p99"] = agreement.kl_p99;
    json["top1_agreement"] = agreement.top1_agreement;
    text += fmt::format(
        "against {}: SQNR {:.1f} dB, KL mean {:.4f} and 99th percentile {:.4f}, top-1 {:.1f} %\n",
        arguments.against.string(), agreement.sqnr_db, agreement.kl_mean, agreement.kl_p99,
        agreement.top1_agreement * 100.0);
  }
  if (arguments.json) {
    print_json(json);
  } else {
    std::cout << text;
  }
}

}  // namespace

void add_eval(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = add_command(app, "eval", "Measure how well a model predicts a text",
                                  "lathe eval smol.lathe --text book.txt --against SmolLM2.gguf");
  add_artifact_or_source(*command, arguments->model,
                         "Artifact, or a checkpoint, which is then run in float");
  add_file(*command, "--text", arguments->text, "Text file")->required();
  CLI::Option* against = add_file(*command, "--against", arguments->against,
                                  "Artifact or checkpoint to compare the logits with");
  CLI::Option* context =
      command
          ->add_option("--context", arguments->context,
                       "Tokens of a window (default: 1024, or the model's limit)")
          ->check(between(2));
  CLI::Option* stride = command
                            ->add_option("--stride", arguments->stride,
                                         "Tokens from window to window (default: half the context)")
                            ->check(between(1));
  CLI::Option* layers = command->add_flag(
      "--layers", arguments->layers,
      "Compare what each layer gives in this executor (ort, htp) with the reference executor");
  layers->excludes(against)->excludes(context)->excludes(stride);
  command->add_option("--tokens", arguments->tokens, "Tokens of the text that --layers runs")
      ->check(between(2, 1 << 20))
      ->capture_default_str()
      ->needs(layers);
  add_open_options(*command, arguments->open);
  add_json(*command, arguments->json);
  command->callback([arguments] { run(*arguments); });
}

}  // namespace lathe::cli
