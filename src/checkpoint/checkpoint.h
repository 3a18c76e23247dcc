#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/config.h"
#include "support/tensor.h"

namespace lathe {

/// The text side of a checkpoint, as bytes: what src/text is opened with.
struct TextAssets {
  /// tokenizer.json (GGUF: built from its vocabulary). Empty: the checkpoint has none, and there is
  /// a warning about it.
  std::string tokenizer_json;
  /// tokenizer_config.json or "{}"; special tokens that it lacks come from special_tokens_map.json.
  std::string tokenizer_config_json;
  std::string chat_template;  ///< Jinja source; empty: the model has none
};

/// One named tensor of a checkpoint, still where the file has it.
struct TensorInfo {
  std::string name;  ///< Hugging Face's name: "model.layers.0.self_attn.q_proj.weight"
  Shape shape;       ///< [out_features, in_features] for linear weights
};

/// A model as its author saved it: config, named tensors (memory-mapped, nothing copied) and text
/// assets. When this exists, every tensor that the config calls for is there with the right shape
/// and has been checked against its file (offset, size, type).
class Checkpoint {
 public:
  virtual ~Checkpoint() = default;

  /// Opens a Hugging Face folder or a .gguf file. Throws Error.
  static std::shared_ptr<const Checkpoint> open(const std::filesystem::path& source);

  virtual const ModelConfig& config() const = 0;
  virtual const GenerationConfig& generation() const = 0;
  virtual const TextAssets& text() const = 0;
  /// The tensors that the config calls for and no others, sorted by name. The names do not depend
  /// on the file format. Tied embeddings: there is no `lm_head.weight`, whatever the file has.
  virtual const std::vector<TensorInfo>& tensors() const = 0;
  /// Index into tensors(), or -1.
  virtual int find(std::string_view name) const = 0;
  /// Widens elements [begin, begin + count) of a tensor (row-major) to float32, exactly. `begin`
  /// and `count` are multiples of the tensor's last dimension. Safe to call from several threads.
  virtual void read_f32(int tensor, int64_t begin, int64_t count, float* out) const = 0;
  /// Provenance for artifacts: the 128-bit XXH3 hash, 32 hex digits, of the config and the stored
  /// bytes of the weights. The same on every machine and however the weights are split into shards.
  /// Reads all the weights, so ask only when it is needed (about 10 GB a second once in memory).
  virtual std::string fingerprint() const = 0;
  /// Advice for the user found while opening (one line each).
  virtual const std::vector<std::string>& warnings() const = 0;
};

}  // namespace lathe
