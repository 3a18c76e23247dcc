#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "quant/module_pattern.h"

namespace lathe {

enum class Granularity : uint8_t { channel };

/// How the weight of a product is stored.
struct WeightFormat {
  DType dtype = DType::i8;
  Granularity granularity = Granularity::channel;
  bool operator==(const WeightFormat&) const = default;
};

/// "i8 per channel"
std::string to_string(const WeightFormat& format);

/// Which weights a rule is for: all of the conditions that are given hold.
struct RuleMatch {
  std::optional<Op> op;
  std::optional<ModulePattern> module;
};

struct RecipeRule {
  RuleMatch match;
  int64_t priority = 1;  ///< the highest wins; the later of two equal ones
  WeightFormat weight;
  std::string notes;
};

/// How a model is quantized, as data (recipes/*.json):
///   {"name": "...", "notes": "...", "source": "...",
///    "dtype": "16a8w", "granularity": "channel", "kv_bits": 8, "transforms": true,
///    "rules": [{"match": {"op": "linear", "module": "lm_head"}, "priority": 1,
///               "dtype": "16a8w", "granularity": "channel", "notes": "..."}]}
/// `dtype` gives the bits of activations and of weights. `name`, `dtype` and `kv_bits` must be
/// there.
struct Recipe {
  std::string name;
  std::string notes;
  std::string source;
  DType activation = DType::u16;  ///< u16 or u8, affine
  int kv_bits = 8;                ///< 8: u8 symmetric; 16: u16 affine
  bool transforms = false;        ///< fold transforms into the weights first (docs/numerics.md)
  WeightFormat weight;            ///< where no rule matches
  std::vector<RecipeRule> rules;
};

/// Throws Error with the path in the JSON ("$.rules[2].match: op") for anything that is not exactly
/// as described above. `where` names the file.
Recipe parse_recipe(std::string_view text, const std::string& where);

/// What a recipe says of one weight.
struct WeightChoice {
  NodeId node = kNone;
  std::string module;
  WeightFormat format;
  int rule = -1;  ///< index of the rule that decided; -1: the default
};

/// The choice for every product with a constant weight, in execution order. Throws Error naming a
/// rule that matches no weight of the graph.
std::vector<WeightChoice> choose_weights(const Recipe& recipe, const Graph& graph);

}  // namespace lathe
