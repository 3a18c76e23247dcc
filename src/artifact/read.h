#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>

#include "artifact/model.h"

namespace lathe {

/// What read_model does about the bytes of the weights.
enum class WeightCheck : uint8_t {
  checksum,  ///< reads them all once, at memory speed: every altered byte is found
  sizes      ///< leaves them untouched; for commands that run no graph
};

/// Opens model.lathe by memory map: constants point into the file. Everything but the weights is
/// always checked in full (docs/artifact.md says how), so what comes back passes verify(graph,
/// true). Throws Error for any other file, a damaged one, and one of a newer version.
Model read_model(const std::filesystem::path& path, WeightCheck check = WeightCheck::checksum);

/// A model without its text, whose weights are still being read for their checksum. `weights` is
/// waited for before a graph runs: get() throws Error where they are damaged.
struct CheckedModel {
  Model model;
  std::future<void> weights;
};

/// read_model with checksum, for a caller that has something to do in the meantime. `take_text`
/// gets the text before the graphs are read.
CheckedModel begin_reading(const std::filesystem::path& path,
                           const std::function<void(ModelText)>& take_text);

/// The text of an artifact alone, without its graphs: for commands that only tokenize. The checksum
/// over it is checked. Throws Error for any other file, a damaged one, and one of a newer version.
ModelText read_model_text(const std::filesystem::path& path);

}  // namespace lathe
