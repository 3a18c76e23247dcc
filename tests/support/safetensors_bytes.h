#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace lathe::testing {

/// The bytes of a safetensors file with any header text, right or wrong.
inline std::string safetensors_bytes(std::string_view header, std::string_view data) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) {
    bytes += static_cast<char>(static_cast<uint64_t>(header.size()) >> (8 * i));
  }
  return bytes.append(header).append(data);
}

inline std::span<const std::byte> as_span(std::string_view bytes) {
  return std::as_bytes(std::span(bytes.data(), bytes.size()));
}

}  // namespace lathe::testing
