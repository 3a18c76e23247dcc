#include "api/tiny_files.h"

// The bytes come from tiny_files.S, which CMake writes from the files of models/tiny.
#define LATHE_TINY_FILE(symbol)                     \
  extern "C" const std::byte lathe_tiny_##symbol[]; \
  extern "C" const std::byte lathe_tiny_##symbol##_end[]

LATHE_TINY_FILE(config);
LATHE_TINY_FILE(generation_config);
LATHE_TINY_FILE(model);
LATHE_TINY_FILE(tokenizer);
LATHE_TINY_FILE(tokenizer_config);
#undef LATHE_TINY_FILE

namespace lathe {

std::span<const TinyFile> tiny_files() {
  static const TinyFile files[] = {
      {"config.json", {lathe_tiny_config, lathe_tiny_config_end}},
      {"generation_config.json", {lathe_tiny_generation_config, lathe_tiny_generation_config_end}},
      {"model.safetensors", {lathe_tiny_model, lathe_tiny_model_end}},
      {"tokenizer.json", {lathe_tiny_tokenizer, lathe_tiny_tokenizer_end}},
      {"tokenizer_config.json", {lathe_tiny_tokenizer_config, lathe_tiny_tokenizer_config_end}},
  };
  return files;
}

}  // namespace lathe
