#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace lathe {

/// The text of a tokenizer.json for a folder that has only SentencePiece's own `model_path`
/// (tokenizer.model). `tokenizer_config` is that of the folder: tokens beyond the model come from
/// its added_tokens_decoder, else from added_tokens.json in the same folder; its add_prefix_space
/// and legacy are kept to. What a tokenizer adds to a text, and the names of special tokens, are
/// filled in where it does not give them. Throws Error naming file and key.
std::string tokenizer_json_of(const std::filesystem::path& model_path,
                              nlohmann::json& tokenizer_config);

}  // namespace lathe
