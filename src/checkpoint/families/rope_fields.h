#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "checkpoint/config.h"
#include "support/json.h"

namespace lathe {

/// What a family's configuration class has of its own about rotary embeddings.
struct RopeRules {
  double theta = 10000.0;  ///< where the config has none
  /// Share of each head that rotates, where the config has none; nothing: the family always rotates
  /// whole heads.
  std::optional<double> partial_rotary_factor{};
  /// The length before stretching, where the config does not state it outside of the rotary
  /// settings; nothing: what the settings say, else max_position_embeddings.
  std::optional<int64_t> original_max_position_embeddings{};
  /// Phi-3: only longrope, which old configs call "su" or "yarn".
  bool longrope_only = false;
};

/// Reads the rotary settings of a config with one set of them for all layers: `rope_scaling`, which
/// transformers gives precedence, or `rope_parameters`, with `rope_theta` and
/// `partial_rotary_factor` in it or beside it. Sets rope and rotary_dim. head_dim and
/// max_position_embeddings are known.
void read_rope(const JsonFields& config, const RopeRules& rules, ModelConfig& out);

/// Reads one dictionary of settings, such as those of one layer type, for heads that rotate whole.
/// `config` has what stands beside it.
RopeConfig read_rope_settings(const JsonFields& settings, const JsonFields& config,
                              const RopeRules& rules, const ModelConfig& model);

}  // namespace lathe
