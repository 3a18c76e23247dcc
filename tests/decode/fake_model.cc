#include "decode/fake_model.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "support/error.h"

namespace lathe::test {
namespace {

struct LayerShape {
  int64_t key_heads, key_dim, value_heads, value_dim;
};
constexpr LayerShape kLayers[] = {{2, 4, 2, 3}, {1, 5, 1, 6}};
constexpr int64_t kSlidingLayer = 1;

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
  FakeSession(IoContract contract, FakeSessionLog* log, bool dense)
      : io_(std::move(contract)), log_(log), dense_(dense) {}

  const IoContract& io() const override { return io_; }
  bool wants_dense_inputs() const override { return dense_; }

  void bind(std::string_view name, const TensorView& view) override {
    const IoTensor* tensor = io_.find_input(name);
    if (tensor == nullptr) tensor = io_.find_output(name);
    if (tensor == nullptr) fail({.what = "no such tensor", .where = std::string(name)});
    const bool contiguous =
        dense_ ? view.strides == dense_view(view.dtype, view.shape, nullptr).strides
               : view.shape.back() <= 1 || view.strides.back() == 1;
    if (view.dtype != tensor->dtype || view.shape != tensor->shape || !contiguous) {
      fail({.what = "wrong view", .where = std::string(name)});
    }
    const auto [bound, is_new] = bound_.try_emplace(tensor->name);
    bound->second = view;
    if (is_new) find_all();
  }

  void run() noexcept override {
    ++log_->runs;
    for (const IoTensor& input : io_.inputs) {
      if (bound_.count(input.name) == 0) ++log_->faults;
    }
    if (log_->faults > 0) return;
    if (is_whole()) return_caches();
    for (int64_t row = 0; row < io_.tokens_per_call; ++row) write_pair(row);
    if (logits_ == nullptr || logits_->data == nullptr) return;
    ++log_->runs_with_logits;
    for (int64_t row = 0; row < io_.tokens_per_call; ++row) write_logits(row);
  }

 private:
  bool is_whole() const { return ids_ != nullptr && ids_->dtype == DType::i64; }

  const TensorView* find(const std::string& name) const {
    const auto found = bound_.find(name);
    return found == bound_.end() ? nullptr : &found->second;
  }

  /// Of two names the one that the contract has.
  const TensorView* find(const std::string& of_pairs, const std::string& of_whole) const {
    const TensorView* view = find(of_pairs);
    return view != nullptr ? view : find(of_whole);
  }

  void find_all() {
    logits_ = find("logits");
    ids_ = find("tokens", "input_ids");
    positions_ = find("position", "cache_position");
    mask_ = find("attention_mask");
    window_mask_ = find("window_attention_mask");
    for (size_t i = 0; i < std::size(kLayers); ++i) {
      const std::string layer = std::to_string(i);
      const std::string whole = "layers." + layer;
      past_[0][i] = find("k_cache_" + layer, "static_cache." + whole + ".keys");
      past_[1][i] = find("v_cache_" + layer, "static_cache." + whole + ".values");
      fresh_[0][i] = find("k_new_" + layer, whole + ".keys");
      fresh_[1][i] = find("v_new_" + layer, whole + ".values");
    }
  }

  int64_t position_of(int64_t row) const {
    return is_whole() ? positions_->as<int64_t>()[row] : positions_->as<int32_t>()[row];
  }

  /// Whole caches come out as they went in, but for the tokens of the call.
  void return_caches() {
    for (int kind = 0; kind < 2; ++kind) {
      for (size_t i = 0; i < std::size(kLayers); ++i) {
        const TensorView& from = *past_[kind][i];
        const TensorView& to = *fresh_[kind][i];
        if (from.data == to.data) ++log_->faults;
        const int64_t count = elements(from.shape);
        for (int64_t at = 0; from.dtype == DType::f32 && at < count; ++at) {
          if (std::isnan(from.as<float>()[at])) ++log_->faults;
        }
        std::memcpy(to.data, from.data, static_cast<size_t>(byte_size(from.dtype, from.shape)));
      }
    }
  }

  /// Calls job(kind, head, dim) for every element of a key-value pair of one layer.
  template <typename Job>
  static void for_each_element_of(int64_t layer, const Job& job) {
    const LayerShape& shape = kLayers[layer];
    for (int64_t h = 0; h < shape.key_heads; ++h) {
      for (int64_t d = 0; d < shape.key_dim; ++d) job(0, h, d);
    }
    for (int64_t h = 0; h < shape.value_heads; ++h) {
      for (int64_t d = 0; d < shape.value_dim; ++d) job(1, h, d);
    }
  }

  /// The same with the layer, job(kind, layer, head, dim), for all of them.
  template <typename Job>
  static void for_each_element(const Job& job) {
    for (int64_t layer = 0; layer < std::ssize(kLayers); ++layer) {
      for_each_element_of(layer, [&](int kind, int64_t h, int64_t d) { job(kind, layer, h, d); });
    }
  }

  void write_pair(int64_t row) {
    const int64_t token = is_whole() ? ids_->as<int64_t>()[row] : ids_->as<int32_t>()[row];
    const int64_t position = position_of(row);
    const int64_t slot = is_whole() ? position : row;
    if (is_whole() && position >= io_.context) {
      ++log_->faults;
      return;
    }
    for_each_element([&](int kind, int64_t layer, int64_t h, int64_t d) {
      const int32_t code = code_of(kind, layer, h, d, token, position);
      const TensorView& fresh = *fresh_[kind][layer];
      const bool transposed = kind == 0 && !is_whole();
      transposed ? store(fresh, {0, h, d, slot}, code) : store(fresh, {0, h, slot, d}, code);
    });
  }

  bool slides(int64_t layer) const { return io_.window > 0 && layer == kSlidingLayer; }

  /// The token that a slot of a cache holds: the latest of the past that falls on it.
  int64_t position_in(int64_t layer, int64_t slot) const {
    if (!slides(layer)) return slot;
    const int64_t last = position_of(0) - 1;
    return last - (last - slot) % io_.window;
  }

  /// Sum over what row `row` attends, for a graph that is given masks and the past.
  uint64_t state_of_pairs(int64_t row) {
    uint64_t state = 0;
    for (int64_t layer = 0; layer < std::ssize(kLayers); ++layer) {
      const TensorView& mask = slides(layer) ? *window_mask_ : *mask_;
      const int64_t past_columns = mask.shape[3] - io_.tokens_per_call;
      const bool is_float = mask.dtype == DType::f32;
      for (int64_t column = 0; column < mask.shape[3]; ++column) {
        const int32_t code = load(mask, {0, 0, row, column});
        if (code == (is_float ? -255 : 0)) continue;
        if (code != (is_float ? 0 : 65535)) ++log_->faults;
        const bool is_new = column >= past_columns;
        const int64_t slot = is_new ? column - past_columns : column;
        const int64_t position = is_new ? position_of(slot) : position_in(layer, slot);
        for_each_element_of(layer, [&](int kind, int64_t h, int64_t d) {
          const TensorView& from = is_new ? *fresh_[kind][layer] : *past_[kind][layer];
          const int32_t held =
              kind == 0 ? load(from, {0, h, d, slot}) : load(from, {0, h, slot, d});
          state += share(kind, layer, h, d, position, held);
        });
      }
    }
    return state;
  }

  /// The same for a graph with whole caches, which masks by position.
  uint64_t state_of_whole(int64_t row) const {
    uint64_t state = 0;
    for (int64_t slot = 0; slot <= position_of(row); ++slot) {
      for_each_element([&](int kind, int64_t layer, int64_t h, int64_t d) {
        state += share(kind, layer, h, d, slot, load(*fresh_[kind][layer], {0, h, slot, d}));
      });
    }
    return state;
  }

  void write_logits(int64_t row) {
    const uint64_t state = is_whole() ? state_of_whole(row) : state_of_pairs(row);
    for (int64_t id = 0; id < logits_->shape[2]; ++id) {
      store(*logits_, {0, row, id}, logit_of(state, id));
    }
  }

  IoContract io_;
  FakeSessionLog* log_;
  bool dense_;
  std::map<std::string, TensorView, std::less<>> bound_;
  const TensorView* ids_ = nullptr;
  const TensorView* positions_ = nullptr;
  const TensorView* mask_ = nullptr;
  const TensorView* window_mask_ = nullptr;
  const TensorView* logits_ = nullptr;
  const TensorView* past_[2][std::size(kLayers)] = {};   // [kind][layer]; whole: what goes in
  const TensorView* fresh_[2][std::size(kLayers)] = {};  // [kind][layer]; whole: what comes out
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
  io.window = window < context ? window : 0;
  io.outputs = {{"logits", wide_type, {1, tokens, vocab}, logits}};
  if (cache_style == CacheStyle::pairs) {
    io.inputs = {{"tokens", DType::i32, {1, tokens}, {}},
                 {"attention_mask", wide_type, {1, 1, tokens, context}, mask},
                 {"position", DType::i32, {1, tokens}, {}}};
    if (io.window > 0) {
      const int64_t columns = std::min(window, context - tokens) + tokens;
      io.inputs.push_back({"window_attention_mask", wide_type, {1, 1, tokens, columns}, mask});
    }
  } else {
    io.inputs = {{"input_ids", DType::i64, {1, tokens}, {}},
                 {"cache_position", DType::i64, {tokens}, {}}};
  }
  const auto add = [&](std::vector<IoTensor>& to, const std::string& name, Shape shape) {
    to.push_back({name, cache_type, std::move(shape), cache});
  };
  for (size_t i = 0; i < std::size(kLayers); ++i) {
    const auto& [key_heads, key_dim, value_heads, value_dim] = kLayers[i];
    const std::string layer = std::to_string(i);
    const bool slides = io.window > 0 && i == kSlidingLayer;
    const int64_t past = slides ? std::min(window, context - tokens) : context - tokens;
    if (cache_style == CacheStyle::pairs) {
      add(io.inputs, "k_cache_" + layer, {1, key_heads, key_dim, past});
      add(io.inputs, "v_cache_" + layer, {1, value_heads, past, value_dim});
      add(io.outputs, "k_new_" + layer, {1, key_heads, key_dim, tokens});
      add(io.outputs, "v_new_" + layer, {1, value_heads, tokens, value_dim});
    } else {
      const std::string name = "layers." + layer;
      add(io.inputs, "static_cache." + name + ".keys", {1, key_heads, context, key_dim});
      add(io.inputs, "static_cache." + name + ".values", {1, value_heads, context, value_dim});
      add(io.outputs, name + ".keys", {1, key_heads, context, key_dim});
      add(io.outputs, name + ".values", {1, value_heads, context, value_dim});
    }
  }
  return io;
}

std::vector<int32_t> FakeModel::logits_after(std::span<const int64_t> ids) const {
  uint64_t state = 0;
  for (int64_t position = 0; position < std::ssize(ids); ++position) {
    const int64_t token = ids[static_cast<size_t>(position)];
    for (int64_t layer = 0; layer < std::ssize(kLayers); ++layer) {
      const bool slides = window > 0 && window < context && layer == kSlidingLayer;
      if (slides && position <= std::ssize(ids) - 1 - window) continue;
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

std::unique_ptr<Session> make_fake_session(const IoContract& contract, FakeSessionLog* log,
                                           bool dense) {
  return std::make_unique<FakeSession>(contract, log, dense);
}

}  // namespace lathe::test
