#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace lathe {

/// One field of a protobuf message, still in the file.
struct ProtobufField {
  enum class Wire : uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };
  uint32_t number = 0;
  Wire wire = Wire::varint;
  uint64_t value = 0;                ///< of a number, its bits
  std::span<const std::byte> bytes;  ///< of Wire::bytes
  size_t begin = 0;                  ///< the byte of the file at which the field begins
  const std::string* file = nullptr;

  /// "tokenizer.model: byte 17"
  std::string where() const { return *file + ": byte " + std::to_string(begin); }

  // The value as the type that the message gives the field. Each throws Error for another wire
  // type.
  int64_t integer() const;
  bool boolean() const { return integer() != 0; }
  float number32() const;
  std::span<const std::byte> message() const;
  std::string_view text() const;  ///< also throws for text that is not UTF-8

 private:
  void require(Wire expected, const char* name) const;
};

/// Reads the fields of a protobuf message one by one,
/// https://protobuf.dev/programming-guides/encoding (groups, which nobody writes any more, are
/// refused). Copies nothing.
class ProtobufFields {
 public:
  /// A whole file that is a message; `where` names it, and is kept by reference.
  ProtobufFields(std::span<const std::byte> file, const std::string& where)
      : rest_(file), file_(file.data()), where_(&where) {}
  /// The message within a field of this one.
  ProtobufFields within(const ProtobufField& field) const;

  /// The next field; nothing at the end. Throws Error for lengths that do not fit.
  std::optional<ProtobufField> next();

 private:
  uint64_t varint();
  uint64_t fixed(size_t size);
  std::span<const std::byte> take(uint64_t size);
  ProtobufField here() const;

  std::span<const std::byte> rest_;
  const std::byte* file_;
  const std::string* where_;
};

}  // namespace lathe
