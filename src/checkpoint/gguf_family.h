#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "checkpoint/gguf_settings.h"

namespace lathe {

/// How llama.cpp's converter (convert_hf_to_gguf.py) writes a model family, and what llama.cpp
/// itself takes where the file does not say.
struct GgufFamily {
  std::string_view architecture;  ///< general.architecture
  std::string_view model_type;    ///< Hugging Face's
  /// Rows of q and k have the two values that rotate together side by side.
  bool neighbours_rotate;
  /// Not all values of a head need rotate.
  bool part_may_rotate;
  /// Norm weights are stored as 1 + weight.
  bool norms_hold_one;
  /// Whether `post_attention_layernorm` comes after attention rather than before the MLP.
  bool norm_after_attention;
  /// Adds to a config.json what only this family has. Throws Error for what it cannot express.
  void (*add_settings)(GgufSettings& settings, nlohmann::json& config);
};

/// All that Lathe reads.
std::span<const GgufFamily> gguf_families();

/// The family of a file. Throws Error where Lathe does not know the architecture.
const GgufFamily& gguf_family(const Gguf& gguf);

/// The name that a tensor with Hugging Face's name has in a GGUF file of the family:
/// "model.layers.3.mlp.up_proj.weight" -> "blk.3.ffn_up.weight".
std::string gguf_tensor_name(std::string_view hf_name, const GgufFamily& family);

}  // namespace lathe
