#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace lathe {

/// What the name under `tokenizer.ggml.pre` stands for, in the terms of Hugging Face's
/// `tokenizers`.
struct PreTokenizer {
  nlohmann::json normalizer;     ///< null for most
  nlohmann::json pre_tokenizer;  ///< ends in ByteLevel
  bool ignore_merges;            ///< a pre-token that is in the vocabulary is one token
  bool adds_bos;                 ///< where the file does not say whether
};

/// Throws Error for a name that is not known; `where` is its place in the file.
PreTokenizer gguf_pre_tokenizer(std::string_view name, const std::string& where);

}  // namespace lathe
