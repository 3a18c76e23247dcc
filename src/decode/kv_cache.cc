#include "decode/kv_cache.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace lathe {
namespace {

int64_t bytes_of(const CacheFormat& cache) { return bits_of(cache.format.dtype) / 8; }

/// Calls job with a value of the C++ type of `format` that stands for real 0.
template <typename Job>
void with_zero(const ValueFormat& format, const Job& job) {
  switch (format.dtype) {
    case DType::u8:
      return job(static_cast<uint8_t>(format.zero_point));
    case DType::u16:
      return job(static_cast<uint16_t>(format.zero_point));
    default:
      return job(0.0f);
  }
}

/// Fills columns [begin, end) of a [rows, columns] matrix with real 0.
void clear_columns(const ValueFormat& format, std::byte* data, int64_t rows, int64_t columns,
                   int64_t begin, int64_t end) {
  with_zero(format, [&](auto zero) {
    auto* row = reinterpret_cast<decltype(zero)*>(data);
    for (int64_t r = 0; r < rows; ++r, row += columns) std::fill(row + begin, row + end, zero);
  });
}

AlignedBuffer allocate(const CacheFormat& cache, int64_t tokens, const char* what) {
  const int64_t count = checked_elements({cache.heads, cache.head_dim, tokens, bytes_of(cache)});
  return {count < 0 ? std::numeric_limits<int64_t>::max() : count, what};
}

}  // namespace

NewPairs::NewPairs(const GraphIo& io) : tokens_per_call_(io.tokens_per_call) {
  constexpr const char* kWhat = "the new keys and values";
  const int64_t tokens = io.tokens_per_call;
  for (const auto& [key, value] : io.layers) {
    AlignedBuffer& keys = buffers_.emplace_back(allocate(key, tokens, kWhat));
    TensorView key_view =
        dense_view(key.format.dtype, {1, key.heads, key.head_dim, tokens}, keys.data());
    AlignedBuffer& values = buffers_.emplace_back(allocate(value, tokens, kWhat));
    TensorView value_view =
        dense_view(value.format.dtype, {1, value.heads, tokens, value.head_dim}, values.data());
    layers_.push_back({std::move(key_view), std::move(value_view)});
  }
}

KvCache::KvCache(const GraphIo& io) : context_(io.context) {
  constexpr const char* kWhat = "the key-value cache";
  for (const LayerFormat& format : io.layers) {
    const Layer& layer = layers_.emplace_back(Layer{format, allocate(format.key, context_, kWhat),
                                                    allocate(format.value, context_, kWhat)});
    const auto& [key, value] = format;
    clear_columns(key.format, layer.keys.data(), 1, 0, 0, key.heads * key.head_dim * context_);
    clear_columns(value.format, layer.values.data(), 1, 0, 0,
                  value.heads * value.head_dim * context_);
  }
}

TensorView KvCache::key_window(size_t layer, int64_t slots) const {
  const CacheFormat& key = layers_[layer].format.key;
  TensorView view = dense_view(key.format.dtype, {1, key.heads, key.head_dim, context_},
                               layers_[layer].keys.data());
  view.shape[3] = slots;
  return view;
}

TensorView KvCache::value_window(size_t layer, int64_t slots) const {
  const CacheFormat& value = layers_[layer].format.value;
  TensorView view = dense_view(value.format.dtype, {1, value.heads, context_, value.head_dim},
                               layers_[layer].values.data());
  view.shape[2] = slots;
  return view;
}

void KvCache::append(const NewPairs& pairs, int64_t count) noexcept {
  const int64_t tokens = pairs.tokens_per_call();
  for (size_t i = 0; i < layers_.size(); ++i) {
    const auto& [key, value] = layers_[i].format;
    with_zero(key.format, [&](auto zero) {
      using T = decltype(zero);
      const T* from = pairs.layers()[i].key.as<T>();
      T* to = reinterpret_cast<T*>(layers_[i].keys.data()) + length_;
      // One element a row in decode: a plain loop, as a call of memcpy would cost more than it
      // does.
      for (int64_t row = 0; row < key.heads * key.head_dim; ++row) {
        for (int64_t t = 0; t < count; ++t) to[t] = from[t];
        from += tokens;
        to += context_;
      }
    });
    const int64_t token_bytes = value.head_dim * bytes_of(value);
    for (int64_t head = 0; head < value.heads; ++head) {
      std::memcpy(layers_[i].values.data() + (head * context_ + length_) * token_bytes,
                  pairs.layers()[i].value.data + head * tokens * token_bytes,
                  static_cast<size_t>(count * token_bytes));
    }
  }
  length_ += count;
}

void KvCache::truncate(int64_t length) noexcept {
  for (const Layer& layer : layers_) {
    const auto& [key, value] = layer.format;
    clear_columns(key.format, layer.keys.data(), key.heads * key.head_dim, context_, length,
                  length_);
    clear_columns(value.format, layer.values.data(), value.heads, context_ * value.head_dim,
                  length * value.head_dim, length_ * value.head_dim);
  }
  length_ = length;
}

}  // namespace lathe
