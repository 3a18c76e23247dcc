#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/gguf.h"

namespace lathe {

/// The metadata of a GGUF file that belongs to its architecture: "ARCHITECTURE.key". Remembers
/// which keys were asked for. Errors name the file and the key.
class GgufSettings {
 public:
  /// Keeps a reference to `gguf`.
  GgufSettings(const Gguf& gguf, std::string_view architecture);

  const Gguf& gguf() const { return gguf_; }
  /// "m.gguf: llama.block_count"
  std::string place(std::string_view key) const;

  std::optional<int64_t> integer(std::string_view key);
  std::optional<double> number(std::string_view key);
  std::optional<bool> boolean(std::string_view key);
  std::optional<std::string_view> string(std::string_view key);
  /// Throw Error where absent.
  int64_t required_integer(std::string_view key);
  double required_number(std::string_view key);
  /// Throw Error unless the setting is absent or `neutral`.
  void refuse_unless(std::string_view key, int64_t neutral);
  void refuse_unless_number(std::string_view key, double neutral);

  /// Counts a key as asked for that needs no reading.
  void know(std::string_view key) { ask(key); }
  bool asked(std::string_view key) const { return asked_.contains(full(key)); }
  /// Keys of the architecture that nothing asked for.
  std::vector<std::string> unread() const;

 private:
  std::string full(std::string_view key) const { return prefix_ + std::string(key); }
  const std::string& ask(std::string_view key) { return *asked_.insert(full(key)).first; }

  const Gguf& gguf_;
  std::string prefix_;  // "llama."
  std::set<std::string> asked_;
};

}  // namespace lathe
