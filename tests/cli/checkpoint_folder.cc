#include "cli/checkpoint_folder.h"

namespace lathe::testing {

CheckpointFolder::CheckpointFolder() {
  const std::filesystem::path source = std::filesystem::path(LATHE_TEST_DATA) / "tiny/llama";
  for (const char* name : {"config.json", "generation_config.json", "model.safetensors",
                           "tokenizer.json", "tokenizer_config.json"}) {
    write(name, read_bytes(source / name));
  }
}

void CheckpointFolder::set(const std::string& name, const std::string& key,
                           const nlohmann::json& value) const {
  auto json = nlohmann::json::parse(read_bytes(file(name)));
  json[key] = value;
  write(name, json.dump());
}

void CheckpointFolder::erase(const std::string& name, const std::string& key) const {
  auto json = nlohmann::json::parse(read_bytes(file(name)));
  json.erase(key);
  write(name, json.dump());
}

std::map<std::string, std::string> contents(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files[entry.path().filename().string()] = read_bytes(entry.path());
  }
  return files;
}

}  // namespace lathe::testing
