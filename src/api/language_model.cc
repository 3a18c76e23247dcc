#include "lathe/language_model.h"

#include <algorithm>
#include <future>
#include <utility>
#include <vector>

#include "api/exported_model.h"
#include "artifact/read.h"
#include "executors/cpu/session.h"
#include "executors/reference/evaluator_session.h"
#include "lathe/export.h"
#include "support/error.h"
#include "support/temporary_folder.h"
#include "text/text_model.h"

namespace lathe {
namespace {

/// Takes the graphs out of the model.
Runner make_runner(Model& model, const OpenOptions& options) {
  model.graph(GraphRole::decode);  // throws where there is none
  std::vector<Graph> graphs = std::move(model.graphs);
  const auto pool = std::make_shared<ThreadPool>(thread_count(options.threads));
  const auto session = [&](GraphRole role) -> std::unique_ptr<Session> {
    const auto found = std::find_if(graphs.begin(), graphs.end(),
                                    [&](const Graph& graph) { return graph.role() == role; });
    if (found == graphs.end()) return nullptr;
    auto graph = std::make_shared<const Graph>(std::move(*found));
    if (options.executor == ExecutorKind::cpu) return make_cpu_session(std::move(graph), pool);
    return std::make_unique<ReferenceSession>(std::move(graph));
  };
  std::unique_ptr<Session> decode = session(GraphRole::decode);
  std::unique_ptr<Session> prefill =
      options.mode == RunMode::kv ? nullptr : session(GraphRole::prefill);
  return Runner(std::move(decode), std::move(prefill), options.mode);
}

// A large tokenizer takes longer to open than all the rest. It goes on in the background until the
// first text is to be encoded; whoever has ids already does not wait for it.
std::shared_future<TextModel> open_in_background(ModelText text,
                                                 const std::filesystem::path& where) {
  return std::async(std::launch::async | std::launch::deferred,
                    [text = std::move(text), where = where.string()]() mutable {
                      const ModelText files = std::move(text);  // not kept once they are read
                      return TextModel::open(files.tokenizer_json, files.tokenizer_config_json,
                                             files.chat_template, where);
                    });
}

/// What an artifact's graphs need that is not in the folder of an export.
void require_own_executor(const std::filesystem::path& artifact, const OpenOptions& options) {
  if (options.executor != ExecutorKind::htp) return;
  fail({.what = "an artifact holds nothing that an HTP can load",
        .where = artifact.string(),
        .advice = "export it: lathe export MODEL --format htp --soc SM8750 -o DIR"});
}

}  // namespace

std::string_view name_of(ExecutorKind executor) {
  switch (executor) {
    case ExecutorKind::cpu:
      return "cpu";
    case ExecutorKind::reference:
      return "reference";
    case ExecutorKind::ort:
      return "ort";
    case ExecutorKind::htp:
      return "htp";
  }
  return "";
}

void require_consistent(const OpenOptions& options) {
  if (options.soc.empty() || options.executor == ExecutorKind::htp) return;
  fail({.what = "--soc is for --executor htp",
        .found = "--executor " + std::string(name_of(options.executor))});
}

struct LanguageModel::Impl {
  GenerationIds generation;
  std::shared_future<TextModel> text;  // being opened in the background
  Runner runner;
};

LanguageModel::LanguageModel(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LanguageModel::~LanguageModel() = default;

std::unique_ptr<LanguageModel> LanguageModel::open(const std::filesystem::path& artifact,
                                                   const OpenOptions& options) {
  require_consistent(options);
  const auto make = [](Impl impl) {
    return std::unique_ptr<LanguageModel>(
        new LanguageModel(std::make_unique<Impl>(std::move(impl))));
  };
  const auto open_folder = [&](const std::filesystem::path& folder) {
    ExportedModel exported = open_export(folder, options);
    return make({std::move(exported.generation), open_in_background(exported.text, artifact),
                 Runner(std::move(exported.decode), std::move(exported.prefill), options.mode)});
  };
  if (std::filesystem::is_directory(artifact)) return open_folder(artifact);
  require_own_executor(artifact, options);
  if (options.executor == ExecutorKind::ort) {
    const TemporaryFolder folder;
    export_model(artifact, folder.path() / "model");
    return open_folder(folder.path() / "model");
  }
  std::shared_future<TextModel> text;
  auto [model, weights] = begin_reading(
      artifact, [&](ModelText files) { text = open_in_background(std::move(files), artifact); });
  Runner runner = make_runner(model, options);
  weights.get();
  return make({std::move(model.generation), std::move(text), std::move(runner)});
}

std::vector<int64_t> LanguageModel::encode(std::string_view text) const {
  return impl_->text.get().encode_prompt(text);
}

std::vector<int64_t> LanguageModel::encode_chat(const std::vector<ChatMessage>& messages,
                                                const ChatOptions& options) const {
  return impl_->text.get().encode_chat(messages, options);
}

const std::shared_ptr<const Tokenizer>& LanguageModel::tokenizer() const {
  return impl_->text.get().tokenizer();
}

int64_t LanguageModel::context() const { return impl_->runner.context(); }
int64_t LanguageModel::vocab() const { return impl_->runner.vocab(); }
Runner& LanguageModel::runner() { return impl_->runner; }

GenerateResult LanguageModel::generate(std::span<const int64_t> prompt,
                                       const SamplerOptions& sampling, GenerateOptions options,
                                       const std::function<void(std::string_view)>& on_text) {
  const std::vector<int64_t>& eos = impl_->generation.eos_ids;
  options.eos_ids.insert(options.eos_ids.end(), eos.begin(), eos.end());
  Sampler sampler(sampling, vocab());
  const std::span<const int64_t> rest = impl_->runner.keep_common(prompt);
  return lathe::generate(impl_->runner, sampler, TextStream(tokenizer(), /*skip_special=*/true),
                         rest, options, on_text);
}

void LanguageModel::logits(std::span<const int64_t> ids, const Runner::TakeRow& take) {
  impl_->runner.reset();
  impl_->runner.prefill(ids, take);
}

}  // namespace lathe
