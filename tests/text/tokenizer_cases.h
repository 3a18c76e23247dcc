#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace lathe {

/// A tokenizer and what Hugging Face's `tokenizers` 0.23.3 gives for it
/// (tests/data/tokenizers/NAME.json).
struct TokenizerCases {
  std::shared_ptr<const Tokenizer> tokenizer;
  nlohmann::json golden;
};

/// `golden`: the file of cases; `tokenizer_json`: the tokenizer they were made with.
TokenizerCases load_cases(const std::filesystem::path& golden,
                          const std::filesystem::path& tokenizer_json);

/// The cases of tests/data/tokenizers/`name`.json with the tokenizer that belongs to them.
TokenizerCases load_cases(const std::string& name);

/// The names for load_cases whose tokenizer is in tests/data.
std::vector<std::string> tokenizer_names();

/// Ids and text of all cases, of the random ids, and of their streams, as GoogleTest expectations.
void expect_cases_hold(const TokenizerCases& cases);

/// All text that a stream gives out for `ids`, one by one.
std::string streamed(const std::shared_ptr<const Tokenizer>& tokenizer,
                     const std::vector<int64_t>& ids, bool skip_special);

}  // namespace lathe
