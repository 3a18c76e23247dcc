#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "eval/perplexity.h"
#include "lathe/language_model.h"
#include "text/text_model.h"

namespace lathe::cli {

/// The SRC that stands for the checkpoint in the program itself.
inline constexpr std::string_view kEmbeddedSource = "tiny";

/// Something that gives logits: an artifact, or the float graph of a checkpoint.
struct LogitsModel {
  std::shared_ptr<const void> keep;  ///< what `run` works on
  RunSequence run;
  TextModel text;
  int64_t vocab = 0;
  int64_t context = 0;
};
LogitsModel open_logits_model(const std::filesystem::path& path, const OpenOptions& options);

/// The tokenizer and template of a MODEL-or-SRC, or of a bare tokenizer.json or
/// tokenizer.model.
TextModel open_text(const std::filesystem::path& path);

/// Text that a user gave. Throws Error naming the file, for what is not UTF-8 too.
std::string read_text(const std::filesystem::path& path);
/// JSON that a user gave, its keys in their order. Throws Error naming the file.
nlohmann::ordered_json read_json(const std::filesystem::path& path);

}  // namespace lathe::cli
