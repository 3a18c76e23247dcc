#include "checkpoint/gguf_pre_tokenizer.h"

#include <array>

#include "support/error.h"

namespace lathe {
namespace {

// The patterns of the published tokenizer.json files, which the names stand for.

constexpr std::string_view kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::string_view kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::string_view kQwen35 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::string_view kGpt4o =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::string_view kTekken =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

enum class Kind : uint8_t { gpt2, digits, llama3, qwen2, qwen35, gpt4o, tekken };

struct Named {
  std::string_view name;
  Kind kind;
  bool ignore_merges;
  bool adds_bos;
};

constexpr std::array kNames{Named{"default", Kind::gpt2, false, false},
                            Named{"gpt-2", Kind::gpt2, false, false},
                            Named{"phi-2", Kind::gpt2, false, false},
                            Named{"olmo", Kind::gpt2, false, false},
                            Named{"smollm", Kind::digits, false, false},
                            Named{"starcoder", Kind::digits, false, false},
                            Named{"refact", Kind::digits, false, false},
                            Named{"command-r", Kind::digits, false, false},
                            Named{"llama-bpe", Kind::llama3, true, true},
                            Named{"llama3", Kind::llama3, true, true},
                            Named{"llama-v3", Kind::llama3, true, true},
                            Named{"glm4", Kind::llama3, true, false},
                            Named{"chatglm-bpe", Kind::llama3, false, false},
                            Named{"smaug-bpe", Kind::llama3, false, false},
                            Named{"dbrx", Kind::llama3, false, false},
                            Named{"qwen2", Kind::qwen2, false, false},
                            Named{"deepseek-r1-qwen", Kind::qwen2, false, false},
                            Named{"qwen35", Kind::qwen35, false, false},
                            Named{"gpt-4o", Kind::gpt4o, false, false},
                            Named{"tekken", Kind::tekken, true, true}};

nlohmann::json byte_level(bool use_regex) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", false},
          {"trim_offsets", true},
          {"use_regex", use_regex}};
}

nlohmann::json sequence(const nlohmann::json& first, const nlohmann::json& second) {
  return {{"type", "Sequence"}, {"pretokenizers", nlohmann::json::array({first, second})}};
}

nlohmann::json split(std::string_view pattern) {
  const nlohmann::json step{{"type", "Split"},
                            {"pattern", {{"Regex", pattern}}},
                            {"behavior", "Isolated"},
                            {"invert", false}};
  return sequence(step, byte_level(false));
}

nlohmann::json steps(Kind kind) {
  switch (kind) {
    case Kind::gpt2:
      return byte_level(true);
    case Kind::digits:
      return sequence({{"type", "Digits"}, {"individual_digits", true}}, byte_level(true));
    case Kind::llama3:
      return split(kLlama3);
    case Kind::qwen2:
      return split(kQwen2);
    case Kind::qwen35:
      return split(kQwen35);
    case Kind::gpt4o:
      return split(kGpt4o);
    case Kind::tekken:
      break;
  }
  return split(kTekken);
}

}  // namespace

PreTokenizer gguf_pre_tokenizer(std::string_view name, const std::string& where) {
  for (const Named& known : kNames) {
    if (known.name != name) continue;
    // Qwen's tokenizers compose characters first; GGUF does not say so.
    const bool composes = known.kind == Kind::qwen2 || known.kind == Kind::qwen35;
    const nlohmann::json normalizer = composes ? nlohmann::json{{"type", "NFC"}} : nlohmann::json();
    return {normalizer, steps(known.kind), known.ignore_merges, known.adds_bos};
  }
  fail({.what = "this pre-tokenizer is not supported",
        .where = where,
        .found = '"' + printable(name, 40) + '"',
        .advice = "use the Hugging Face checkpoint of the model"});
}

}  // namespace lathe
