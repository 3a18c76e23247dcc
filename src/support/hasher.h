#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace lathe {

/// XXH3, 128 bits, https://github.com/Cyan4973/xxHash, over bytes that come in pieces: tells
/// damaged data from sound data at memory speed. The same on every machine; no protection against
/// somebody who means to deceive.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;

  void add(std::span<const std::byte> bytes);
  void add(int64_t number);
  /// The length goes first, so that texts in a row cannot be confused with others.
  void add(std::string_view text);

  /// 32 hex digits for what was added so far.
  std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lathe
