#pragma once

#include <span>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace lathe {

/// What every kind of checkpoint keeps once it is open. A file format adds where the bytes are and
/// how they widen to float32.
class LoadedCheckpoint : public Checkpoint {
 public:
  const ModelConfig& config() const final { return config_; }
  const GenerationConfig& generation() const final { return generation_; }
  const TextAssets& text() const final { return text_; }
  const std::vector<TensorInfo>& tensors() const final { return tensors_; }
  int find(std::string_view name) const final;
  std::string fingerprint() const final;
  const std::vector<std::string>& warnings() const final { return warnings_; }

 protected:
  /// A tensor as the file has it.
  struct Stored {
    std::string_view type;             // the file's name for the element or block type
    std::span<const std::byte> bytes;  // row-major, in the order of the file
  };
  virtual Stored stored(int tensor) const = 0;

  /// Unites the ids that end a text into generation_.eos_ids; those outside of the vocabulary can
  /// never be generated and are left out with a warning.
  void set_eos(std::vector<int64_t> ids, const std::string& where);

  /// Warns about weights of layers that no module of the model type takes, as a bias that the
  /// config does not mention: it may be the config of another model. `unused` may be empty.
  void warn_about_unused(const std::vector<std::string>& unused, const std::string& where);

  ModelConfig config_;
  GenerationConfig generation_;
  TextAssets text_;
  std::vector<TensorInfo> tensors_;
  std::vector<std::string> warnings_;
  std::string config_text_;  // the config as JSON, for the fingerprint
};

}  // namespace lathe
