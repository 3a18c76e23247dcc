#include "cli/inputs.h"

#include <span>
#include <utility>

#include "api/embedded_checkpoint.h"
#include "api/float_model.h"
#include "artifact/manifest.h"
#include "artifact/read.h"
#include "checkpoint/hf_sentencepiece.h"
#include "support/error.h"
#include "support/mapped_file.h"
#include "support/thread_pool.h"
#include "support/utf8.h"

namespace lathe::cli {
namespace {

/// Whether this is a compiled model: an artifact, or the folder of an export.
bool is_artifact(const std::filesystem::path& path) {
  if (is_export_folder(path)) return true;
  return path != kEmbeddedSource && path.extension() != ".gguf" &&
         !std::filesystem::is_directory(path);
}

TextModel checkpoint_text(const Checkpoint& checkpoint, const std::filesystem::path& path) {
  const TextAssets& assets = checkpoint.text();
  return TextModel::open(assets.tokenizer_json, assets.tokenizer_config_json, assets.chat_template,
                         path.string());
}

}  // namespace

TextModel open_text(const std::filesystem::path& path) {
  if (path.extension() == ".json") {
    return TextModel::open(read_text_file(path), {}, {}, path.string());
  }
  if (path.extension() == ".model") {
    nlohmann::json config = nlohmann::json::object();
    const std::string tokenizer_json = tokenizer_json_of(path, config);
    return TextModel::open(tokenizer_json, config.dump(), {}, path.string());
  }
  if (!is_artifact(path)) return checkpoint_text(*open_source(path), path);
  const ModelText text = is_export_folder(path) ? read_export_text(path) : read_model_text(path);
  return TextModel::open(text.tokenizer_json, text.tokenizer_config_json, text.chat_template,
                         path.string());
}

LogitsModel open_logits_model(const std::filesystem::path& path, const OpenOptions& options) {
  if (is_artifact(path)) {
    std::shared_ptr<LanguageModel> model = LanguageModel::open(path, options);
    return {model,
            [model = model.get()](std::span<const int64_t> ids, const TakeLogits& take) {
              model->logits(ids, take);
            },
            open_text(path), model->vocab(), model->context()};
  }
  const bool here =
      options.executor == ExecutorKind::cpu || options.executor == ExecutorKind::reference;
  if (!here) {
    fail({.what = "a checkpoint is run in float here",
          .where = path.string(),
          .expected = "--executor cpu or reference",
          .found = std::string(name_of(options.executor)),
          .advice = "compile it first"});
  }
  require_consistent(options);
  const std::shared_ptr<const Checkpoint> checkpoint = open_source(path);
  const auto executor =
      options.executor == ExecutorKind::reference ? FloatExecutor::reference : FloatExecutor::fast;
  auto model = std::make_shared<FloatModel>(checkpoint, thread_count(options.threads), executor);
  return {model,
          [model = model.get()](std::span<const int64_t> ids, const TakeLogits& take) {
            model->run(ids, take);
          },
          checkpoint_text(*checkpoint, path), model->vocab(), model->context()};
}

std::string read_text(const std::filesystem::path& path) {
  std::string text = read_text_file(path);
  require_utf8(text, path.string());
  return text;
}

nlohmann::ordered_json read_json(const std::filesystem::path& path) {
  try {
    return nlohmann::ordered_json::parse(read_text_file(path));
  } catch (const nlohmann::json::parse_error& error) {
    fail({.what = "not valid JSON",
          .where = path.string(),
          .found = "an error at byte " + std::to_string(error.byte)});
  } catch (const nlohmann::json::exception&) {
    fail({.what = "not valid JSON", .where = path.string(), .found = "a number out of range"});
  }
}

}  // namespace lathe::cli
