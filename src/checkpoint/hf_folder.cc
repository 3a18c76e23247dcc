#include "checkpoint/hf_folder.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "checkpoint/expected_tensors.h"
#include "checkpoint/hf_text.h"
#include "checkpoint/loaded_checkpoint.h"
#include "checkpoint/widen.h"
#include "support/error.h"
#include "support/json.h"
#include "support/mapped_file.h"
#include "support/safetensors.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHead = "lm_head.weight";
constexpr const char* kEmbedding = "model.embed_tokens.weight";

/// Where one tensor lies.
struct Located {
  const SafetensorsFile* file;
  const SafetensorsEntry* entry;

  std::span<const std::byte> bytes() const { return file->bytes(*entry); }
  std::string place() const { return file->file().path().string() + ": " + entry->name; }
};

/// The safetensors files of a folder and the names in them.
struct Weights {
  std::map<std::string, SafetensorsFile> files;  // by file name
  std::map<std::string, Located> tensors;
  fs::path source;  // what to name in an error: the single file or the index
};

[[noreturn]] void fail_without_weights(const fs::path& folder) {
  for (const char* pickle : {"pytorch_model.bin", "pytorch_model.bin.index.json"}) {
    if (!file_exists(folder / pickle)) continue;
    fail({.what = "PyTorch pickles are not read, since opening one can run any code",
          .where = (folder / pickle).string(),
          .expected = "model.safetensors",
          .advice = "load the model in transformers and save it with save_pretrained"});
  }
  fail({.what = "the folder has no weights",
        .where = folder.string(),
        .expected = "model.safetensors or model.safetensors.index.json"});
}

void check_shard_name(const std::string& name, const std::string& where) {
  // An index comes from outside: it must not reach out of its folder.
  if (!name.empty() && name.find('/') == std::string::npos && name != "." && name != "..") return;
  fail({.what = "malformed index",
        .where = where,
        .expected = "the name of a file in the same folder",
        .found = '"' + printable(name, 80) + '"'});
}

/// Opens every shard that the index names and finds every tensor in the shard that should have it.
void open_shards(const fs::path& folder, Weights& weights) {
  const std::string where = weights.source.string();
  const nlohmann::json index = read_json_file(weights.source);
  const nlohmann::json* map = JsonFields(index, where).find("weight_map");
  if (map == nullptr) fail({.what = "the field is missing", .where = where + ": weight_map"});
  const JsonFields names(*map, where + ": weight_map");

  std::map<std::string, std::vector<std::string>> by_shard;
  for (const auto& item : map->items()) {
    by_shard[names.string(item.key())].push_back(item.key());
  }
  for (const auto& [shard, tensors] : by_shard) {
    check_shard_name(shard, where);
    const fs::path path = folder / shard;
    if (!file_exists(path)) {
      const std::string more =
          tensors.size() > 1 ? " and " + std::to_string(tensors.size() - 1) + " more" : "";
      fail({.what = "a shard of the checkpoint is missing",
            .where = path.string(),
            .expected = "a file with " + printable(tensors.front(), 120) + more,
            .advice = "download the missing file into the folder"});
    }
    const SafetensorsFile& file =
        weights.files.emplace(shard, SafetensorsFile::open(path)).first->second;
    for (const std::string& name : tensors) {
      const SafetensorsEntry* entry = file.find(name);
      if (entry == nullptr) {
        fail({.what = "the shard lacks a tensor that the index places there",
              .where = path.string() + ": " + printable(name, 120),
              .advice = "download the shard again"});
      }
      weights.tensors[name] = {&file, entry};
    }
  }
}

void open_weights(const fs::path& folder, Weights& weights) {
  constexpr const char* kSingle = "model.safetensors";
  constexpr const char* kIndex = "model.safetensors.index.json";
  if (file_exists(folder / kSingle)) {
    weights.source = folder / kSingle;
    const SafetensorsFile& file =
        weights.files.emplace(kSingle, SafetensorsFile::open(weights.source)).first->second;
    for (const SafetensorsEntry& entry : file.entries()) {
      weights.tensors[entry.name] = {&file, &entry};
    }
  } else if (file_exists(folder / kIndex)) {
    weights.source = folder / kIndex;
    open_shards(folder, weights);
  } else {
    fail_without_weights(folder);
  }
}

/// Names as a model of text alone has them, out of those of a model that also sees:
/// "language_model.model.norm.weight" or, in files of transformers 5,
/// "model.language_model.norm.weight".
void take_names_of_text_model(Weights& weights) {
  constexpr std::string_view kOuter = "language_model.";
  constexpr std::string_view kInner = "model.language_model.";
  std::map<std::string, Located> renamed;
  for (const auto& [name, located] : weights.tensors) {
    if (name.starts_with(kOuter)) {
      renamed[name.substr(kOuter.size())] = located;
    } else if (name.starts_with(kInner)) {
      renamed["model." + name.substr(kInner.size())] = located;
    } else {
      renamed.emplace(name, located);
    }
  }
  weights.tensors = std::move(renamed);
}

/// Ids of "eos_token_id": absent, one number or a list of them.
std::vector<int64_t> eos_ids(const JsonFields& fields) {
  constexpr std::string_view kKey = "eos_token_id";
  const nlohmann::json* value = fields.find(kKey);
  std::vector<int64_t> ids;
  if (value == nullptr) return ids;
  const nlohmann::json list = value->is_array() ? *value : nlohmann::json::array({*value});
  for (const nlohmann::json& id : list) {
    if (!id.is_number_integer()) {
      fail({.what = "wrong JSON type",
            .where = fields.place(kKey),
            .expected = "a token id or a list of them",
            .found = describe(id)});
    }
    ids.push_back(id.get<int64_t>());
  }
  return ids;
}

class HfFolder final : public LoadedCheckpoint {
 public:
  explicit HfFolder(const fs::path& folder) {
    const fs::path config_path = folder / "config.json";
    if (!file_exists(config_path)) {
      fail({.what = "not a Hugging Face checkpoint folder",
            .where = folder.string(),
            .expected = "a config.json in it",
            .advice = "for a GGUF model give the .gguf file itself"});
    }
    const nlohmann::json config = read_json_file(config_path);
    config_ = parse_model_config(config, config_path.string());
    config_text_ = config.dump();
    open_weights(folder, weights_);
    if (config.contains("text_config")) take_names_of_text_model(weights_);
    match_tensors();
    check_tied_head();
    find_unused();
    text_ = read_hf_text(folder, warnings_);
    read_special_ids(folder, config, config_path);
  }

  void read_f32(int tensor, int64_t begin, int64_t count, float* out) const override {
    const Located& located = located_[static_cast<size_t>(tensor)];
    const DType dtype = *located.entry->dtype;
    widen(dtype, located.bytes().data() + begin * bits_of(dtype) / 8,
          {out, static_cast<size_t>(count)});
  }

 protected:
  Stored stored(int tensor) const override {
    const Located& located = located_[static_cast<size_t>(tensor)];
    return {located.entry->type, located.bytes()};
  }

 private:
  void match_tensors() {
    tensors_ = expected_tensors(config_);
    std::vector<std::string> missing;
    for (const TensorInfo& tensor : tensors_) {
      const auto found = weights_.tensors.find(tensor.name);
      if (found == weights_.tensors.end()) {
        missing.push_back(tensor.name);
        continue;
      }
      located_.push_back(found->second);
      check_weight(tensor, found->second);
    }
    if (!missing.empty()) fail_missing(missing, weights_.source.string());
  }

  void find_unused() {
    std::vector<std::string> unused;
    for (const auto& [name, located] : weights_.tensors) {
      // Old files have the tables of rotary embeddings among the weights.
      const bool weight = name.ends_with(".weight") || name.ends_with(".bias");
      if (weight && name.starts_with("model.layers.") && find(name) < 0) unused.push_back(name);
    }
    warn_about_unused(unused, weights_.source.string());
  }

  static void check_weight(const TensorInfo& tensor, const Located& located) {
    check_shape(tensor, located.entry->shape, located.file->file().path().string());
    if (located.entry->dtype && is_float_weight(*located.entry->dtype)) return;
    fail({.what = "weights of this type are not supported",
          .where = located.place(),
          .expected = "F32, F16 or BF16",
          .found = located.entry->type,
          .advice = "use a float checkpoint of the model"});
  }

  /// Some checkpoints say that the embeddings are tied and store a head all the same. Hugging
  /// Face's code then uses the embedding; where the two differ, somebody should know.
  void check_tied_head() {
    const auto head = weights_.tensors.find(kHead);
    if (!config_.tie_word_embeddings || head == weights_.tensors.end()) return;
    const Located& embedding = located_[static_cast<size_t>(find(kEmbedding))];
    const auto a = head->second.bytes();
    const auto b = embedding.bytes();
    if (head->second.entry->type == embedding.entry->type && a.size() == b.size() &&
        std::memcmp(a.data(), b.data(), a.size()) == 0) {
      return;
    }
    warnings_.push_back(head->second.place() +
                        ": differs from the embedding although the config says "
                        "tie_word_embeddings true; the embedding is used for both");
  }

  void read_special_ids(const fs::path& folder, const nlohmann::json& config,
                        const fs::path& config_path) {
    const JsonFields fields(config, config_path.string());
    std::vector<int64_t> eos = eos_ids(fields);
    constexpr int64_t kMaxId = int64_t{1} << 31;
    std::optional<int64_t> bos = fields.optional_integer("bos_token_id", -1, kMaxId);
    const fs::path generation_path = folder / "generation_config.json";
    if (file_exists(generation_path)) {
      const nlohmann::json generation = read_json_file(generation_path);
      const JsonFields more(generation, generation_path.string());
      const std::vector<int64_t> ids = eos_ids(more);
      eos.insert(eos.end(), ids.begin(), ids.end());
      if (const auto id = more.optional_integer("bos_token_id", -1, kMaxId)) bos = id;
    }
    if (const auto id = special_token_id(text_, "eos_token", folder)) eos.push_back(*id);
    if (bos && *bos >= 0 && *bos < config_.vocab_size) generation_.bos_id = bos;
    set_eos(std::move(eos), folder.string());
  }

  Weights weights_;
  std::vector<Located> located_;  // in the order of tensors()
};

}  // namespace

std::shared_ptr<const Checkpoint> open_hf_folder(const fs::path& folder) {
  return std::make_shared<HfFolder>(folder);
}

}  // namespace lathe
