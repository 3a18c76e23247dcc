#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "checkpoint/config.h"
#include "support/json.h"

namespace lathe {

/// Fields that several families read, with the bounds that all of them share. The bounds are far
/// above any published model and low enough that no product of sizes overflows.
inline constexpr int64_t kMaxPositions = int64_t{1} << 26;
inline constexpr double kMaxFactor = 1e6;
inline constexpr double kMaxTheta = 1e12;

/// What a family's configuration class takes for a size that config.json does not state.
struct SizeDefaults {
  int64_t vocab_size;
  int64_t hidden_size;
  int64_t intermediate_size;
  int64_t layers;
  int64_t heads;
  std::optional<int64_t> kv_heads;  ///< nothing: as many as heads
  std::optional<int64_t> head_dim;  ///< nothing: hidden_size / heads
  int64_t max_position_embeddings;
  double rms_norm_eps = 1e-6;
};

/// Reads sizes and rms_norm_eps; sets attention_scale to 1 / sqrt(head_dim) and makes all layers
/// alike. `num_key_value_heads` null means one a head, `head_dim` null hidden_size / heads.
void read_sizes(const JsonFields& config, const SizeDefaults& defaults, ModelConfig& out);

/// A truth value, or `missing` where it is absent.
bool read_flag(const JsonFields& config, std::string_view key, bool missing);

/// `attention_bias` of families that give it to q, k, v and o.
void read_attention_bias(const JsonFields& config, ModelConfig& out);

/// An activation by the names that transformers gives to the three that Lathe has.
Activation read_activation(const JsonFields& config, std::string_view key, Activation missing);

/// A soft cap: `missing` where absent, none where null.
std::optional<double> read_softcap(const JsonFields& config, std::string_view key,
                                   std::optional<double> missing);

/// Takes `layer_types` where the config has them. Whether it does.
bool read_layer_types(const JsonFields& config, ModelConfig& out);

/// `sliding_window`: `missing` where absent, nothing where null.
std::optional<int64_t> read_window(const JsonFields& config, std::optional<int64_t> missing);

/// Gives the layers that slide, once these are known, their window. Throws where there is none.
void set_window(const JsonFields& config, std::optional<int64_t> window, ModelConfig& out);

/// The same for families whose layers all slide, where there is a window, or none.
void set_window_of_all_layers(const JsonFields& config, std::optional<int64_t> window,
                              ModelConfig& out);

/// Throws where `key` says true.
void refuse_flag(const JsonFields& config, std::string_view key, std::string_view what);

}  // namespace lathe
