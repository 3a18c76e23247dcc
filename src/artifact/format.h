#pragma once

#include <string_view>

#include "support/tensor.h"

namespace lathe {

// Names inside of model.lathe (docs/artifact.md).

// Metadata:
inline constexpr std::string_view kIoKey = "lathe.io";
inline constexpr std::string_view kModelKey = "lathe.model";
inline constexpr std::string_view kRecipeKey = "lathe.recipe";
inline constexpr std::string_view kProvenanceKey = "lathe.provenance";

// Byte tensors; the text files are there only where the model has them. The graphs are one too:
// the header's JSON would have every quote of theirs escaped.
inline constexpr std::string_view kGraphsName = "graphs.json";
inline constexpr std::string_view kGenerationName = "generation_config.json";
inline constexpr std::string_view kTokenizerName = "tokenizer.json";
inline constexpr std::string_view kTokenizerConfigName = "tokenizer_config.json";
inline constexpr std::string_view kChatTemplateName = "chat_template.jinja";

/// The type of the tensor that holds a constant: safetensors has no 4-bit one, so i4 lies in bytes.
constexpr DType stored_type(DType dtype) { return dtype == DType::i4 ? DType::u8 : dtype; }

}  // namespace lathe
