#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace lathe {

/// Reads tokenizer.json, tokenizer_config.json, special_tokens_map.json and the chat template of a
/// Hugging Face folder; all of them may be absent. The chat template comes from
/// chat_template.jinja, else from tokenizer_config.json (a string, or the one named "default" of a
/// list), else from chat_template.json. Special tokens that tokenizer_config.json lacks are filled
/// in from special_tokens_map.json. Throws Error for malformed files; appends advice to `warnings`.
TextAssets read_hf_text(const std::filesystem::path& folder, std::vector<std::string>& warnings);

/// The id of a special token of tokenizer_config.json ("eos_token"), found through its
/// added_tokens_decoder or tokenizer.json; nothing where either does not have it.
std::optional<int64_t> special_token_id(const TextAssets& text, const std::string& key,
                                        const std::filesystem::path& folder);

/// Parses a JSON file of a folder. Throws Error, also for a Git LFS pointer.
nlohmann::json read_json_file(const std::filesystem::path& path);

}  // namespace lathe
