#include "checkpoint/gguf_checkpoint.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint/expected_tensors.h"
#include "checkpoint/gguf_config.h"
#include "checkpoint/gguf_family.h"
#include "checkpoint/gguf_files.h"
#include "checkpoint/gguf_tokenizer.h"
#include "checkpoint/loaded_checkpoint.h"
#include "support/error.h"
#include "support/rotary_pairs.h"

namespace lathe {
namespace {

/// Whether the rows of this tensor are rotated by RoPE.
bool is_rotated(std::string_view hf_name) {
  return hf_name.find(".q_proj.") != std::string_view::npos ||
         hf_name.find(".k_proj.") != std::string_view::npos;
}

bool is_norm(std::string_view hf_name) { return hf_name.ends_with("norm.weight"); }

class GgufCheckpoint final : public LoadedCheckpoint {
 public:
  explicit GgufCheckpoint(const std::filesystem::path& path)
      : files_(open_gguf_files(path)), gguf_(files_.gguf), family_(gguf_family(gguf_)) {
    const nlohmann::json config = gguf_config(gguf_, family_, warnings_);
    config_ = parse_model_config(config, path.string());
    config_text_ = config.dump();
    match_tensors();
    GgufText text = gguf_text(gguf_, warnings_);
    text_ = std::move(text.assets);
    generation_.bos_id = text.bos_id;
    set_eos(std::move(text.eos_ids), path.string());
  }

  void read_f32(int tensor, int64_t begin, int64_t count, float* out) const override {
    const auto index = static_cast<size_t>(tensor);
    const GgufTensor& stored = stored_[index];
    const Shape& shape = tensors_[index].shape;
    const bool moved = family_.neighbours_rotate && is_rotated(tensors_[index].name);
    if (moved && shape.size() == 1) {
      // A bias: blocks of its type may reach over the values that change places.
      std::vector<float> values(static_cast<size_t>(shape[0]));
      read_stored(stored, 0, shape[0], values.data());
      for (int64_t i = 0; i < count; ++i) {
        out[i] = values[static_cast<size_t>(stored_row(begin + i))];
      }
    } else if (moved) {
      const int64_t width = shape[1];
      for (int64_t row = begin / width; row < (begin + count) / width; ++row) {
        read_stored(stored, stored_row(row) * width, width, out);
        out += width;
      }
    } else {
      read_stored(stored, begin, count, out);
      if (family_.norms_hold_one && is_norm(tensors_[index].name)) {
        std::for_each_n(out, count, [](float& value) { value -= 1.0f; });
      }
    }
  }

 protected:
  Stored stored(int tensor) const override {
    const GgufTensor& found = stored_[static_cast<size_t>(tensor)];
    return {found.type->name, found.bytes};
  }

 private:
  void match_tensors() {
    tensors_ = expected_tensors(config_);
    std::vector<std::string> missing;
    std::set<std::string_view> used;
    for (const TensorInfo& tensor : tensors_) {
      const std::string name = gguf_tensor_name(tensor.name, family_);
      const std::optional<GgufTensor> found = find_stored({name, tensor.shape});
      if (!found) {
        missing.push_back(name);
        continue;
      }
      used.insert(found->name);
      stored_.push_back(*found);
    }
    if (!missing.empty()) fail_missing(missing, gguf_.where());
    std::vector<std::string> unused;
    for (const GgufTensor& tensor : gguf_.tensors()) {
      if (!used.contains(tensor.name) && tensor.name.starts_with("blk."))
        unused.emplace_back(tensor.name);
    }
    warn_about_unused(unused, gguf_.where());
  }

  /// A tensor of the file, by itself or as rows of one that has queries, keys and values.
  std::optional<GgufTensor> find_stored(const TensorInfo& tensor) const {
    if (const GgufTensor* found = gguf_.find_tensor(tensor.name)) {
      check_shape(tensor, found->shape, gguf_.where());
      return *found;
    }
    const int64_t queries = config_.heads * config_.head_dim;
    const int64_t keys = config_.kv_heads * config_.head_dim;
    for (const auto& [part, first] : {std::pair<std::string_view, int64_t>{".attn_q.", 0},
                                      {".attn_k.", queries},
                                      {".attn_v.", queries + keys}}) {
      const size_t at = tensor.name.find(part);
      if (at == std::string::npos) continue;
      TensorInfo whole = tensor;
      whole.name.replace(at, part.size(), ".attn_qkv.");
      whole.shape[0] = queries + 2 * keys;
      const GgufTensor* packed = gguf_.find_tensor(whole.name);
      if (packed == nullptr) return std::nullopt;
      check_shape(whole, packed->shape, gguf_.where());
      return rows_of(*packed, first, tensor.shape);
    }
    return std::nullopt;
  }

  GgufTensor rows_of(const GgufTensor& tensor, int64_t first, const Shape& shape) const {
    const int64_t begin = first * (elements(shape) / shape[0]);
    const int64_t block = tensor.type->block;
    if (begin % block != 0 || elements(shape) % block != 0) {
      fail({.what = "queries, keys and values share blocks of this tensor",
            .where = gguf_.where() + ": " + std::string(tensor.name),
            .expected = "multiples of " + std::to_string(block) + " values"});
    }
    const auto bytes_of = [&](int64_t count) {
      return static_cast<size_t>(count / block * tensor.type->bytes);
    };
    return {tensor.name, tensor.type, shape,
            tensor.bytes.subspan(bytes_of(begin), bytes_of(elements(shape)))};
  }

  /// `begin` and `count` are whole blocks: blocks never span rows.
  void read_stored(const GgufTensor& tensor, int64_t begin, int64_t count, float* out) const {
    const int64_t offset = begin / tensor.type->block * tensor.type->bytes;
    tensor.type->widen(tensor.bytes.data() + offset, {out, static_cast<size_t>(count)});
  }

  /// The row of a q or k projection in the file for a row in Hugging Face's order. Hugging Face
  /// rotates value j of a head with value j + head_dim / 2; GGUF keeps such pairs side by side.
  int64_t stored_row(int64_t row) const {
    return channel_in_pairs(row, config_.head_dim, config_.head_dim);
  }

  GgufFiles files_;
  const Gguf& gguf_;
  const GgufFamily& family_;
  std::vector<GgufTensor> stored_;  // in the order of tensors()
};

}  // namespace

std::shared_ptr<const Checkpoint> open_gguf(const std::filesystem::path& path) {
  return std::make_shared<GgufCheckpoint>(path);
}

}  // namespace lathe
