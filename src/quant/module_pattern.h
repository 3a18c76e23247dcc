#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace lathe {

/// A regular expression (ECMAScript) that is looked for anywhere in a module path. Copies share it.
class ModulePattern {
 public:
  /// Throws std::invalid_argument where `expression` is empty, over 256 bytes or not an expression.
  explicit ModulePattern(std::string expression);

  const std::string& expression() const;
  bool is_found_in(std::string_view module) const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace lathe
