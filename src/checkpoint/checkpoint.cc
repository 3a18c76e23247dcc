#include "checkpoint/checkpoint.h"

#include "checkpoint/gguf_checkpoint.h"
#include "checkpoint/hf_folder.h"
#include "support/error.h"

namespace lathe {

std::shared_ptr<const Checkpoint> Checkpoint::open(const std::filesystem::path& source) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::file_status status = fs::status(source, ignored);
  if (!fs::exists(status)) {
    fail({.what = "no such file or folder",
          .where = source.string(),
          .expected = "a Hugging Face checkpoint folder or a .gguf file"});
  }
  if (fs::is_directory(status)) return open_hf_folder(source);
  if (source.extension() == ".safetensors") {
    fail({.what = "the weights alone do not make a model",
          .where = source.string(),
          .expected = "the folder that holds this file and its config.json"});
  }
  return open_gguf(source);
}

}  // namespace lathe
