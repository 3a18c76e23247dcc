#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace lathe {

/// Named parameters of a node, in the order they were given: {dim=-1}, {sizes=[1, 4, 16]}.
class Attributes {
 public:
  using Item = std::variant<int64_t, double, std::string, std::vector<int64_t>>;
  using Entry = std::pair<std::string, Item>;

  Attributes() = default;
  Attributes(std::initializer_list<Entry> entries) : entries_(entries) {}

  /// Replaces the value of a name already there.
  void set(std::string_view name, Item item);
  bool has(std::string_view name) const { return find(name) != nullptr; }
  /// Throw Error where the name is missing or has another type.
  int64_t integer(std::string_view name) const;
  double real(std::string_view name) const;  ///< an integer is widened
  const std::string& text(std::string_view name) const;
  const std::vector<int64_t>& integers(std::string_view name) const;

  const std::vector<Entry>& entries() const { return entries_; }
  bool operator==(const Attributes&) const = default;

 private:
  const Item* find(std::string_view name) const;
  const Item& get(std::string_view name) const;
  std::vector<Entry> entries_;
};

}  // namespace lathe
