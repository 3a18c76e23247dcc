#pragma once

#include <cstdint>
#include <string>

#include "support/json.h"

namespace lathe {

/// What a recipe may know a model by, named as in config.json. Zero or empty: not known, or, in a
/// recipe, not asked for.
struct RecipeFacts {
  std::string model_type;
  int64_t vocab_size = 0;
  int64_t hidden_size = 0;
  int64_t intermediate_size = 0;
  int64_t num_hidden_layers = 0;
  int64_t num_attention_heads = 0;
  int64_t num_key_value_heads = 0;

  bool operator==(const RecipeFacts&) const = default;
};

/// The facts that a JSON object asks for: {"model_type": "llama", "hidden_size": 2048}. Throws
/// Error for an unknown key, a value out of range, and an object that asks for nothing; `where` is
/// its place.
RecipeFacts parse_facts_asked_for(const nlohmann::json& object, const std::string& where);

/// Whether `model` has all the facts that `asked` asks for, and it asks for any.
bool has_facts(const RecipeFacts& model, const RecipeFacts& asked);

}  // namespace lathe
