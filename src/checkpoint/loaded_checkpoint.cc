#include "checkpoint/loaded_checkpoint.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/error.h"
#include "support/hasher.h"

namespace lathe {

int LoadedCheckpoint::find(std::string_view name) const {
  const auto found = std::lower_bound(
      tensors_.begin(), tensors_.end(), name,
      [](const TensorInfo& tensor, std::string_view key) { return tensor.name < key; });
  return found == tensors_.end() || found->name != name
             ? -1
             : static_cast<int>(found - tensors_.begin());
}

std::string LoadedCheckpoint::fingerprint() const {
  Hasher hasher;
  hasher.add(config_text_);
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const Stored tensor = stored(static_cast<int>(i));
    hasher.add(tensors_[i].name);
    hasher.add(tensor.type);
    hasher.add(static_cast<int64_t>(tensors_[i].shape.size()));
    for (const int64_t dimension : tensors_[i].shape) hasher.add(dimension);
    hasher.add(tensor.bytes);
  }
  return hasher.hex();
}

void LoadedCheckpoint::set_eos(std::vector<int64_t> ids, const std::string& where) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  const auto outside = [&](int64_t id) { return id < 0 || id >= config_.vocab_size; };
  for (const int64_t id : ids) {
    if (outside(id)) {
      warnings_.push_back(fmt::format(
          "{}: eos_token_id {} is outside of the vocabulary and is ignored", where, id));
    }
  }
  std::erase_if(ids, outside);
  generation_.eos_ids = std::move(ids);
}

void LoadedCheckpoint::warn_about_unused(const std::vector<std::string>& unused,
                                         const std::string& where) {
  if (unused.empty()) return;
  const std::string more = unused.size() == 1 ? "" : fmt::format(" ({} in all)", unused.size());
  warnings_.push_back(fmt::format("{}: {}: the model type {} does not use this tensor{}", where,
                                  printable(unused.front(), 120), config_.model_type, more));
}

}  // namespace lathe
