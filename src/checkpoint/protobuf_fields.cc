#include "checkpoint/protobuf_fields.h"

#include <bit>

#include "support/error.h"
#include "support/utf8.h"

namespace lathe {

void ProtobufField::require(Wire expected, const char* name) const {
  if (wire == expected) return;
  fail({.what = "malformed protobuf",
        .where = where(),
        .expected = std::string(name) + " in field " + std::to_string(number),
        .found = "wire type " + std::to_string(static_cast<int>(wire))});
}

int64_t ProtobufField::integer() const {
  require(Wire::varint, "an integer");
  return static_cast<int64_t>(value);
}

float ProtobufField::number32() const {
  require(Wire::fixed32, "a float");
  return std::bit_cast<float>(static_cast<uint32_t>(value));
}

std::span<const std::byte> ProtobufField::message() const {
  require(Wire::bytes, "bytes");
  return bytes;
}

std::string_view ProtobufField::text() const {
  require(Wire::bytes, "text");
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  require_utf8(text, where());
  return text;
}

ProtobufField ProtobufFields::here() const {
  ProtobufField field;
  field.begin = static_cast<size_t>(rest_.data() - file_);
  field.file = where_;
  return field;
}

ProtobufFields ProtobufFields::within(const ProtobufField& field) const {
  ProtobufFields inner = *this;
  inner.rest_ = field.message();
  return inner;
}

std::span<const std::byte> ProtobufFields::take(uint64_t size) {
  if (size > rest_.size()) {
    fail({.what = "malformed protobuf",
          .where = here().where(),
          .expected = "at most " + std::to_string(rest_.size()) + " bytes more",
          .found = std::to_string(size)});
  }
  const auto taken = rest_.first(static_cast<size_t>(size));
  rest_ = rest_.subspan(taken.size());
  return taken;
}

uint64_t ProtobufFields::varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const auto byte = std::to_integer<uint64_t>(take(1)[0]);
    value |= (byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
  fail({.what = "malformed protobuf",
        .where = here().where(),
        .found = "an integer without an end"});
}

uint64_t ProtobufFields::fixed(size_t size) {
  const auto bytes = take(size);
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i) value |= std::to_integer<uint64_t>(bytes[i]) << (8 * i);
  return value;
}

std::optional<ProtobufField> ProtobufFields::next() {
  using Wire = ProtobufField::Wire;
  if (rest_.empty()) return std::nullopt;
  ProtobufField field = here();
  const uint64_t key = varint();
  field.number = static_cast<uint32_t>(key >> 3);
  field.wire = static_cast<Wire>(key & 7);
  if (field.number == 0 || key >> 3 > 0x1FFFFFFF) {
    fail({.what = "malformed protobuf",
          .where = field.where(),
          .found = "field number " + std::to_string(key >> 3)});
  }
  switch (field.wire) {
    case Wire::varint:
      field.value = varint();
      return field;
    case Wire::fixed64:
      field.value = fixed(8);
      return field;
    case Wire::bytes:
      field.bytes = take(varint());
      return field;
    case Wire::fixed32:
      field.value = fixed(4);
      return field;
  }
  fail({.what = "malformed protobuf",
        .where = field.where(),
        .found = "wire type " + std::to_string(key & 7)});
}

}  // namespace lathe
