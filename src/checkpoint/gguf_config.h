#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/gguf.h"

namespace lathe {

/// The config.json that Hugging Face's code would have for the model of a GGUF file, for
/// parse_model_config. Throws Error for an architecture other than `llama` and for settings that
/// LlamaForCausalLM cannot express (experts, partial rotary embeddings, rope scaling of other
/// kinds), each by its key. `file` gives the bytes of the rope_freqs tensor. Appends to `warnings`
/// the keys of the architecture that nothing here reads.
nlohmann::json gguf_config(const Gguf& gguf, std::span<const std::byte> file,
                           std::vector<std::string>& warnings);

/// The name that a tensor with Hugging Face's name has in a GGUF file of the llama architecture:
/// "model.layers.3.mlp.up_proj.weight" -> "blk.3.ffn_up.weight".
std::string gguf_tensor_name(std::string_view hf_name);

}  // namespace lathe
