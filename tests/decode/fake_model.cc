#include "decode/fake_model.h"

#include <algorithm>

#include "support/error.h"

namespace lathe::test {
namespace {

struct LayerShape {
  int64_t key_heads, key_dim, value_heads, value_dim;
};
constexpr LayerShape kLayers[] = {{2, 4, 2, 3}, {1, 5, 1, 6}};

uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t z = a * 0x9E3779B97F4A7C15u + b + 1;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/// The key (kind 0) or value (kind 1) of a token; exact in u8, u16 and f32.
int32_t code_of(int64_t kind, int64_t layer, int64_t head, int64_t dim, int64_t token,
                int64_t position) {
  uint64_t hash = mix(static_cast<uint64_t>(kind), static_cast<uint64_t>(layer));
  for (const int64_t part : {head, dim, token, position}) {
    hash = mix(hash, static_cast<uint64_t>(part));
  }
  return static_cast<int32_t>(hash & 0xFF);
}

/// What one code at one place adds to the state of a row. Sums, so that the order does not matter.
uint64_t share(int64_t kind, int64_t layer, int64_t head, int64_t dim, int64_t position,
               int32_t code) {
  uint64_t hash = mix(static_cast<uint64_t>(kind) + 2, static_cast<uint64_t>(layer));
  for (const int64_t part : {head, dim, position, static_cast<int64_t>(code)}) {
    hash = mix(hash, static_cast<uint64_t>(part));
  }
  return hash;
}

int32_t logit_of(uint64_t state, int64_t id) {
  return static_cast<int32_t>(mix(state, static_cast<uint64_t>(id)) & 0xFFFF);
}

int64_t offset(const TensorView& view, std::initializer_list<int64_t> index) {
  int64_t at = 0;
  size_t dimension = 0;
  for (const int64_t i : index) at += i * view.strides[dimension++];
  return at;
}

void store(const TensorView& view, std::initializer_list<int64_t> index, int32_t value) {
  const int64_t at = offset(view, index);
  switch (view.dtype) {
    case DType::u8:
      view.as<uint8_t>()[at] = static_cast<uint8_t>(value);
      break;
    case DType::u16:
      view.as<uint16_t>()[at] = static_cast<uint16_t>(value);
      break;
    default:
      view.as<float>()[at] = static_cast<float>(value);
  }
}

class FakeSession : public Session {
 public:
  FakeSession(IoContract contract, FakeSessionLog* log) : io_(std::move(contract)), log_(log) {}

  const IoContract& io() const override { return io_; }

  void bind(std::string_view name, const TensorView& view) override {
    const IoTensor* tensor = io_.find_input(name);
    if (tensor == nullptr) tensor = io_.find_output(name);
    if (tensor == nullptr) fail({.what = "no such tensor", .where = std::string(name)});
    const bool contiguous = view.shape.back() <= 1 || view.strides.back() == 1;
    if (view.dtype != tensor->dtype || view.shape != tensor->shape || !contiguous) {
      fail({.what = "wrong view", .where = std::string(name)});
    }
    bound_[tensor->name] = view;
    logits_ = find("logits");
    for (size_t i = 0; i < std::size(kLayers); ++i) {
      const std::string layer = std::to_string(i);
      past_[0][i] = find("k_cache_" + layer);
      past_[1][i] = find("v_cache_" + layer);
      fresh_[0][i] = find("k_new_" + layer);
      fresh_[1][i] = find("v_new_" + layer);
    }
    tokens_ = find("tokens");
    position_ = find("position");
    mask_ = find("attention_mask");
  }

  void run() noexcept override {
    ++log_->runs;
    for (const IoTensor& input : io_.inputs) {
      if (bound_.count(input.name) == 0) ++log_->faults;
    }
    if (log_->faults > 0) return;
    for (int64_t row = 0; row < io_.tokens_per_call; ++row) write_pair(row);
    if (logits_ == nullptr || logits_->data == nullptr) return;
    ++log_->runs_with_logits;
    for (int64_t row = 0; row < io_.tokens_per_call; ++row) write_logits(row);
  }

 private:
  const TensorView* find(const std::string& name) const {
    const auto found = bound_.find(name);
    return found == bound_.end() ? nullptr : &found->second;
  }

  /// Calls job(kind, layer, head, dim) for every element of a key-value pair.
  template <typename Job>
  static void for_each_element(const Job& job) {
    for (int64_t layer = 0; layer < std::ssize(kLayers); ++layer) {
      const LayerShape& shape = kLayers[layer];
      for (int64_t h = 0; h < shape.key_heads; ++h) {
        for (int64_t d = 0; d < shape.key_dim; ++d) job(0, layer, h, d);
      }
      for (int64_t h = 0; h < shape.value_heads; ++h) {
        for (int64_t d = 0; d < shape.value_dim; ++d) job(1, layer, h, d);
      }
    }
  }

  void write_pair(int64_t row) {
    const int32_t token = load(*tokens_, {0, row});
    const int32_t position = load(*position_, {0, row});
    for_each_element([&](int kind, int64_t layer, int64_t h, int64_t d) {
      const int32_t code = code_of(kind, layer, h, d, token, position);
      const TensorView& fresh = *fresh_[kind][layer];
      kind == 0 ? store(fresh, {0, h, d, row}, code) : store(fresh, {0, h, row, d}, code);
    });
  }

  void write_logits(int64_t row) {
    const int64_t past_columns = io_.context - io_.tokens_per_call;
    const bool is_float = mask_->dtype == DType::f32;
    uint64_t state = 0;
    for (int64_t column = 0; column < io_.context; ++column) {
      const int32_t mask = load(*mask_, {0, 0, row, column});
      if (mask == (is_float ? -255 : 0)) continue;
      if (mask != (is_float ? 0 : 65535)) ++log_->faults;
      const bool is_new = column >= past_columns;
      const int64_t slot = is_new ? column - past_columns : column;
      const int64_t position = is_new ? load(*position_, {0, slot}) : column;
      for_each_element([&](int kind, int64_t layer, int64_t h, int64_t d) {
        const TensorView& from = is_new ? *fresh_[kind][layer] : *past_[kind][layer];
        const int32_t code = kind == 0 ? load(from, {0, h, d, slot}) : load(from, {0, h, slot, d});
        state += share(kind, layer, h, d, position, code);
      });
    }
    for (int64_t id = 0; id < logits_->shape[2]; ++id) {
      store(*logits_, {0, row, id}, logit_of(state, id));
    }
  }

  IoContract io_;
  FakeSessionLog* log_;
  std::map<std::string, TensorView, std::less<>> bound_;
  const TensorView* tokens_ = nullptr;
  const TensorView* position_ = nullptr;
  const TensorView* mask_ = nullptr;
  const TensorView* logits_ = nullptr;
  const TensorView* past_[2][std::size(kLayers)] = {};   // [kind][layer]
  const TensorView* fresh_[2][std::size(kLayers)] = {};  // [kind][layer]
};

}  // namespace

int32_t load(const TensorView& view, std::initializer_list<int64_t> index) {
  const int64_t at = offset(view, index);
  switch (view.dtype) {
    case DType::u8:
      return view.as<uint8_t>()[at];
    case DType::u16:
      return view.as<uint16_t>()[at];
    case DType::i32:
      return view.as<int32_t>()[at];
    default:
      return static_cast<int32_t>(view.as<float>()[at]);
  }
}

IoContract FakeModel::contract(int64_t tokens_per_call) const {
  const int64_t tokens = tokens_per_call;
  const auto encoding = [](DType dtype, float scale, int32_t zero_point) {
    return dtype == DType::f32 ? std::nullopt
                               : std::optional(Encoding{dtype, {scale}, zero_point, -1});
  };
  const auto mask = encoding(wide_type, 255.0f / 65535.0f, 65535);
  const auto logits = encoding(wide_type, 0.001f, 32768);
  const auto cache = encoding(cache_type, 0.05f, 128);

  IoContract io;
  io.role = tokens == 1 ? GraphRole::decode : GraphRole::prefill;
  io.tokens_per_call = tokens;
  io.context = context;
  io.inputs = {{"tokens", DType::i32, {1, tokens}, {}},
               {"attention_mask", wide_type, {1, 1, tokens, context}, mask},
               {"position", DType::i32, {1, tokens}, {}}};
  io.outputs = {{"logits", wide_type, {1, tokens, vocab}, logits}};
  const int64_t past = context - tokens;
  for (size_t i = 0; i < std::size(kLayers); ++i) {
    const auto& [key_heads, key_dim, value_heads, value_dim] = kLayers[i];
    const std::string layer = std::to_string(i);
    io.inputs.push_back({"k_cache_" + layer, cache_type, {1, key_heads, key_dim, past}, cache});
    io.inputs.push_back({"v_cache_" + layer, cache_type, {1, value_heads, past, value_dim}, cache});
    io.outputs.push_back({"k_new_" + layer, cache_type, {1, key_heads, key_dim, tokens}, cache});
    io.outputs.push_back(
        {"v_new_" + layer, cache_type, {1, value_heads, tokens, value_dim}, cache});
  }
  return io;
}

std::vector<int32_t> FakeModel::logits_after(std::span<const int64_t> ids) const {
  uint64_t state = 0;
  for (int64_t position = 0; position < std::ssize(ids); ++position) {
    const int64_t token = ids[static_cast<size_t>(position)];
    for (int64_t layer = 0; layer < std::ssize(kLayers); ++layer) {
      const auto& [key_heads, key_dim, value_heads, value_dim] = kLayers[layer];
      for (int kind = 0; kind < 2; ++kind) {
        for (int64_t h = 0; h < (kind == 0 ? key_heads : value_heads); ++h) {
          for (int64_t d = 0; d < (kind == 0 ? key_dim : value_dim); ++d) {
            state +=
                share(kind, layer, h, d, position, code_of(kind, layer, h, d, token, position));
          }
        }
      }
    }
  }
  std::vector<int32_t> logits;
  for (int64_t id = 0; id < vocab; ++id) logits.push_back(logit_of(state, id));
  return logits;
}

int64_t FakeModel::greedy_after(std::span<const int64_t> ids) const {
  const std::vector<int32_t> logits = logits_after(ids);
  return std::max_element(logits.begin(), logits.end()) - logits.begin();
}

std::unique_ptr<Session> make_fake_session(const IoContract& contract, FakeSessionLog* log) {
  return std::make_unique<FakeSession>(contract, log);
}

}  // namespace lathe::test
