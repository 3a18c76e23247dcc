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
  for (size_t i = 0; i < io.layers.size(); ++i) {
    const LayerFormat& format = io.layers[i];
    const bool ring = io.window > 0 && io.slots[i] == io.window;
    const int64_t capacity = ring ? io.window : io.context;
    const Layer& layer =
        layers_.emplace_back(Layer{format, capacity, allocate_slots(format.key, capacity, kWhat),
                                   allocate_slots(format.value, capacity, kWhat)});
    clear_slots(format.key, layer.keys.data(), capacity);
    clear_slots(format.value, layer.values.data(), capacity);
  }
}

int64_t PairCache::stride_for(const Session& session, const GraphIo& io) {
  return session.wants_dense_inputs() ? io.cache_slots() : io.context;
}

TensorView PairCache::key_window(size_t layer, int64_t slots, int64_t stride) const {
  const CacheFormat& key = layers_[layer].format.key;
  TensorView view =
      dense_view(key.format.dtype, {1, key.heads, key.head_dim, layers_[layer].stride(stride)},
                 layers_[layer].keys.data());
  view.shape[3] = slots;
  return view;
}

TensorView PairCache::value_window(size_t layer, int64_t slots, int64_t stride) const {
  const CacheFormat& value = layers_[layer].format.value;
  TensorView view = dense_view(value.format.dtype,
                               {1, value.heads, layers_[layer].stride(stride), value.head_dim},
                               layers_[layer].values.data());
  view.shape[2] = slots;
  return view;
}

void PairCache::arrange(int64_t stride) noexcept {
  if (stride == stride_) return;
  const int64_t before = std::exchange(stride_, stride);
  for (const Layer& layer : layers_) {
    const int64_t from = layer.stride(before);
    const int64_t to = layer.stride(stride);
    if (from == to) continue;
    const auto& [key, value] = layer.format;
    const auto move = [&](const CacheFormat& format, const AlignedBuffer& buffer, int64_t rows,
                          int64_t width) {
      const int64_t slot_bytes = width * bytes_of(format);
      stretch_rows(buffer.data(), rows, from * slot_bytes, to * slot_bytes);
    };
    move(key, layer.keys, key.heads * key.head_dim, 1);
    move(value, layer.values, value.heads, value.head_dim);
    clear(layer, std::min(length(), to), to);
  }
}

void PairCache::append(const NewPairs& pairs, int64_t count) noexcept {
  // The last call before the context is full leaves a dense graph's slots.
  if (length() + count > stride_) arrange(context());
  for (size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    // Tokens that are not in the window of the last one would be written over.
    int64_t first = std::max<int64_t>(0, count - layer.capacity);
    while (first < count) {
      const int64_t slot = (length() + first) % layer.capacity;
      const int64_t run = std::min(count - first, layer.capacity - slot);
      copy(layer, pairs.layers()[i], first, run, slot);
      first += run;
    }
  }
  set_length(length() + count);
  longest_ = std::max(longest_, length());
}

void PairCache::copy(const Layer& layer, const NewPairs::Layer& fresh, int64_t first, int64_t count,
                     int64_t slot) const noexcept {
  const auto& [key, value] = layer.format;
  const int64_t stride = layer.stride(stride_);
  with_zero(key.format, [&](auto zero) {
    using T = decltype(zero);
    const T* from = fresh.key.as<T>() + first;
    const int64_t tokens = fresh.key.shape[3];
    T* to = reinterpret_cast<T*>(layer.keys.data()) + slot;
    // One element a row in decode: a plain loop, as a call of memcpy would cost more than it does.
    for (int64_t row = 0; row < key.heads * key.head_dim; ++row) {
      for (int64_t t = 0; t < count; ++t) to[t] = from[t];
      from += tokens;
      to += stride;
    }
  });
  const int64_t token_bytes = value.head_dim * bytes_of(value);
  const int64_t tokens = fresh.value.shape[2];
  for (int64_t head = 0; head < value.heads; ++head) {
    std::memcpy(layer.values.data() + (head * stride + slot) * token_bytes,
                fresh.value.data + (head * tokens + first) * token_bytes,
                static_cast<size_t>(count * token_bytes));
  }
}

void PairCache::clear(const Layer& layer, int64_t begin, int64_t end) const noexcept {
  const auto& [key, value] = layer.format;
  const int64_t stride = layer.stride(stride_);
  clear_columns(key.format, layer.keys.data(), key.heads * key.head_dim, stride, begin, end);
  clear_columns(value.format, layer.values.data(), value.heads, stride * value.head_dim,
                begin * value.head_dim, end * value.head_dim);
}

bool PairCache::can_truncate(int64_t length) const noexcept {
  if (length == 0) return true;
  return std::all_of(layers_.begin(), layers_.end(), [&](const Layer& layer) {
    // The slot of the last token is one that its own window has left.
    return longest_ <= layer.capacity || length >= longest_ - 1;
  });
}

void PairCache::truncate(int64_t length) noexcept {
  for (const Layer& layer : layers_) {
    if (length >= layer.capacity) {
      for (int64_t at = length; at < this->length(); ++at) {
        clear(layer, at % layer.capacity, at % layer.capacity + 1);
      }
    } else {
      clear(layer, length, std::min(this->length(), layer.capacity));
    }
  }
  set_length(length);
  if (length == 0) longest_ = 0;
}

std::unique_ptr<BoundGraph> PairCache::bind(std::unique_ptr<Session> session, const GraphIo& io) {
  return std::make_unique<PairGraph>(std::move(session), io, *this);
}

}  // namespace lathe
