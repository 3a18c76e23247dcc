#include "decode/pair_cache.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "decode/cache_slots.h"
#include "decode/pair_graph.h"

namespace lathe {

namespace {

/// Gives the rows of a matrix, each `from` bytes long, a length of `to` bytes, in place.
void stretch_rows(std::byte* data, int64_t rows, int64_t from, int64_t to) {
  const auto kept = static_cast<size_t>(std::min(from, to));
  // A row moves away from the ones that are still to be moved.
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t row = to < from ? i : rows - 1 - i;
    std::memmove(data + row * to, data + row * from, kept);
  }
}

}  // namespace

NewPairs::NewPairs(const GraphIo& io) : tokens_per_call_(io.tokens_per_call) {
  constexpr const char* kWhat = "the new keys and values";
  const int64_t tokens = io.tokens_per_call;
  for (const auto& [key, value] : io.layers) {
    AlignedBuffer& keys = buffers_.emplace_back(allocate_slots(key, tokens, kWhat));
    TensorView key_view =
        dense_view(key.format.dtype, {1, key.heads, key.head_dim, tokens}, keys.data());
    AlignedBuffer& values = buffers_.emplace_back(allocate_slots(value, tokens, kWhat));
    TensorView value_view =
        dense_view(value.format.dtype, {1, value.heads, tokens, value.head_dim}, values.data());
    layers_.push_back({std::move(key_view), std::move(value_view)});
  }
}

PairCache::PairCache(const GraphIo& io) : KvCache(io.context), stride_(io.context) {
  constexpr const char* kWhat = "the key-value cache";
  for (const LayerFormat& format : io.layers) {
    const Layer& layer =
        layers_.emplace_back(Layer{format, allocate_slots(format.key, io.context, kWhat),
                                   allocate_slots(format.value, io.context, kWhat)});
    clear_slots(format.key, layer.keys.data(), io.context);
    clear_slots(format.value, layer.values.data(), io.context);
  }
}

int64_t PairCache::stride_for(const Session& session, const GraphIo& io) {
  return session.wants_dense_inputs() ? io.cache_slots() : io.context;
}

TensorView PairCache::key_window(size_t layer, int64_t slots, int64_t stride) const {
  const CacheFormat& key = layers_[layer].format.key;
  TensorView view = dense_view(key.format.dtype, {1, key.heads, key.head_dim, stride},
                               layers_[layer].keys.data());
  view.shape[3] = slots;
  return view;
}

TensorView PairCache::value_window(size_t layer, int64_t slots, int64_t stride) const {
  const CacheFormat& value = layers_[layer].format.value;
  TensorView view = dense_view(value.format.dtype, {1, value.heads, stride, value.head_dim},
                               layers_[layer].values.data());
  view.shape[2] = slots;
  return view;
}

void PairCache::arrange(int64_t stride) noexcept {
  if (stride == stride_) return;
  for (const Layer& layer : layers_) {
    const auto& [key, value] = layer.format;
    const auto move = [&](const CacheFormat& format, const AlignedBuffer& buffer, int64_t rows,
                          int64_t width) {
      const int64_t slot_bytes = width * bytes_of(format);
      stretch_rows(buffer.data(), rows, stride_ * slot_bytes, stride * slot_bytes);
      clear_columns(format.format, buffer.data(), rows, stride * width, length() * width,
                    stride * width);
    };
    move(key, layer.keys, key.heads * key.head_dim, 1);
    move(value, layer.values, value.heads, value.head_dim);
  }
  stride_ = stride;
}

void PairCache::append(const NewPairs& pairs, int64_t count) noexcept {
  // The last call before the context is full leaves a dense graph's slots.
  if (length() + count > stride_) arrange(context());
  const int64_t tokens = pairs.tokens_per_call();
  for (size_t i = 0; i < layers_.size(); ++i) {
    const auto& [key, value] = layers_[i].format;
    with_zero(key.format, [&](auto zero) {
      using T = decltype(zero);
      const T* from = pairs.layers()[i].key.as<T>();
      T* to = reinterpret_cast<T*>(layers_[i].keys.data()) + length();
      // One element a row in decode: a plain loop, as a call of memcpy would cost more than it
      // does.
      for (int64_t row = 0; row < key.heads * key.head_dim; ++row) {
        for (int64_t t = 0; t < count; ++t) to[t] = from[t];
        from += tokens;
        to += stride_;
      }
    });
    const int64_t token_bytes = value.head_dim * bytes_of(value);
    for (int64_t head = 0; head < value.heads; ++head) {
      std::memcpy(layers_[i].values.data() + (head * stride_ + length()) * token_bytes,
                  pairs.layers()[i].value.data + head * tokens * token_bytes,
                  static_cast<size_t>(count * token_bytes));
    }
  }
  set_length(length() + count);
}

void PairCache::truncate(int64_t length) noexcept {
  for (const Layer& layer : layers_) {
    const auto& [key, value] = layer.format;
    clear_columns(key.format, layer.keys.data(), key.heads * key.head_dim, stride_, length,
                  this->length());
    clear_columns(value.format, layer.values.data(), value.heads, stride_ * value.head_dim,
                  length * value.head_dim, this->length() * value.head_dim);
  }
  set_length(length);
}

std::unique_ptr<BoundGraph> PairCache::bind(std::unique_ptr<Session> session, const GraphIo& io) {
  return std::make_unique<PairGraph>(std::move(session), io, *this);
}

}  // namespace lathe
