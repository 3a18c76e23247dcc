#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/quant_spec.h"
#include "quant/module_pattern.h"
#include "quant/recipe_facts.h"
#include "quant/weight_format.h"

namespace lathe {

/// Says how the weights of some products are stored and what their activations are.
struct RecipeRule {
  std::optional<ModulePattern> module;  ///< of the product; nothing: every product
  int64_t priority = 1;                 ///< the highest wins; the later of two equal ones
  WeightFormat weight;
  QuantSpec activation;  ///< of what the product reads and gives: u16 or u8, affine or symmetric
  std::string notes;
};

/// How a model is quantized and laid out, as data: recipes/*.json, described in docs/recipes.md.
struct Recipe {
  std::string name;
  std::string notes;
  std::string source;
  RecipeFacts applies_to;         ///< the models that `auto` takes it for
  DType activation = DType::u16;  ///< u16 or u8, affine
  WeightFormat weight;            ///< where no rule matches
  std::vector<RecipeRule> rules;
  int kv_bits = 8;              ///< of what caches hold. 8: u8 symmetric; 16: u16 affine
  bool transforms = false;      ///< fold transforms into the weights first (docs/numerics.md)
  bool r3 = false;              ///< rotate queries and keys after RoPE
  bool masked_softmax = false;  ///< masks replace scores instead of being added to them
  int headroom = 25;            ///< percent beyond what calibration saw, of 16-bit activations
  int seq_mse = 0;              ///< steps of the search for weight scales; 0: none
  int shards = 1;               ///< parts that an NPU runs one after the other
  bool host_embedding = false;  ///< an NPU is given the rows of the embedding, not its table

  std::optional<int64_t> prefill;  ///< tokens per call of the prefill graph
};

/// Throws Error with the path in the JSON ("$.rules[2].match: op") for anything that is not exactly
/// as docs/recipes.md says, and for parts that contradict each other. `where` names the file.
Recipe parse_recipe(std::string_view text, const std::string& where);

}  // namespace lathe
