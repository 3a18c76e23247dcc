#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "support/tensor.h"

namespace lathe::testing {

/// Builds the bytes of a GGUF file (version 3), right or, where a test wants it, wrong.
class GgufBuilder {
 public:
  GgufBuilder& integer(std::string_view key, uint32_t value) { return add(key, 4, raw(value)); }
  GgufBuilder& number(std::string_view key, float value) { return add(key, 6, raw(value)); }
  GgufBuilder& boolean(std::string_view key, bool value) {
    return add(key, 7, raw(static_cast<uint8_t>(value)));
  }
  GgufBuilder& string(std::string_view key, std::string_view value) {
    return add(key, 8, text(value));
  }
  GgufBuilder& strings(std::string_view key, const std::vector<std::string>& values) {
    std::string bytes = raw(uint32_t{8}) + raw(uint64_t{values.size()});
    for (const std::string& value : values) bytes += text(value);
    return add(key, 9, bytes);
  }
  GgufBuilder& integers(std::string_view key, const std::vector<int32_t>& values) {
    std::string bytes = raw(uint32_t{5}) + raw(uint64_t{values.size()});
    for (const int32_t value : values) bytes += raw(value);
    return add(key, 9, bytes);
  }
  GgufBuilder& numbers(std::string_view key, const std::vector<float>& values) {
    std::string bytes = raw(uint32_t{6}) + raw(uint64_t{values.size()});
    for (const float value : values) bytes += raw(value);
    return add(key, 9, bytes);
  }
  /// A key with a value of any type number and any bytes.
  GgufBuilder& add(std::string_view key, uint32_t type, std::string_view value) {
    metadata_ += text(key) + raw(type);
    metadata_ += value;
    ++keys_;
    return *this;
  }

  /// `shape` outermost dimension first, as everywhere in Lathe. `type` as GGUF numbers it.
  GgufBuilder& tensor(std::string_view name, const Shape& shape, uint32_t type,
                      std::string_view data) {
    return tensor_at(name, shape, type, data_.size(), data);
  }
  GgufBuilder& f32(std::string_view name, const Shape& shape, const std::vector<float>& values) {
    return tensor(name, shape, 0,
                  {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
  }
  /// A tensor whose description says any offset; its data goes to the end.
  GgufBuilder& tensor_at(std::string_view name, const Shape& shape, uint32_t type, uint64_t offset,
                         std::string_view data) {
    infos_ += text(name) + raw(static_cast<uint32_t>(shape.size()));
    for (size_t i = shape.size(); i-- > 0;) infos_ += raw(static_cast<uint64_t>(shape[i]));
    infos_ += raw(type) + raw(offset);
    data_ += data;
    data_.resize((data_.size() + 31) / 32 * 32);
    ++tensors_;
    return *this;
  }

  std::string bytes() const { return bytes(tensors_, keys_); }
  /// With other counts in the header than the file has.
  std::string bytes(uint64_t tensors, uint64_t keys, uint32_t version = 3) const {
    std::string out = "GGUF" + raw(version) + raw(tensors) + raw(keys) + metadata_ + infos_;
    out.resize((out.size() + 31) / 32 * 32);
    return out + data_;
  }

  template <typename T>
  static std::string raw(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    return {reinterpret_cast<const char*>(&value), sizeof value};
  }
  static std::string text(std::string_view value) {
    return raw(uint64_t{value.size()}).append(value);
  }

 private:
  std::string metadata_;
  std::string infos_;
  std::string data_;
  uint64_t keys_ = 0;
  uint64_t tensors_ = 0;
};

}  // namespace lathe::testing
