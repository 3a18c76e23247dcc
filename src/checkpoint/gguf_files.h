#pragma once

#include <filesystem>
#include <vector>

#include "checkpoint/gguf.h"
#include "support/mapped_file.h"

namespace lathe {

/// A GGUF model: one file, or all parts of a split one with the metadata of the first.
struct GgufFiles {
  std::vector<MappedFile> files;  ///< what the views of `gguf` point into
  Gguf gguf;
};

/// Opens a GGUF file, or a split model by any of its parts "NAME-00002-of-00005.gguf". Throws Error
/// where a part is missing, of another model, or lacks tensors.
GgufFiles open_gguf_files(const std::filesystem::path& path);

}  // namespace lathe
