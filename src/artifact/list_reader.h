#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "support/json.h"
#include "support/tensor.h"

namespace lathe {

/// Limits on what a file may ask for, far above any model and small enough that sums and products
/// of what they bound cannot overflow.
inline constexpr int64_t kMaxDimension = int64_t{1} << 30;
inline constexpr int64_t kMaxElements = int64_t{1} << 34;
inline constexpr size_t kMaxRank = 8;
inline constexpr size_t kMaxNameBytes = 256;

/// The items of a compact record in the graphs' JSON, ["mul", 3, [1, 9, 64]], one after the other.
/// Each throws Error where the next item is missing or another.
class ListReader {
 public:
  /// Keeps references; `section` and `index` name the record in errors: "nodes[12]".
  ListReader(const nlohmann::json& list, std::string_view section, size_t index);

  int64_t integer(int64_t low, int64_t high);
  const std::string& string();
  /// A name of a value, a module or a tensor: a short string.
  const std::string& name();
  std::vector<int64_t> integers(int64_t low, int64_t high, size_t limit);
  /// A shape within the limits above, its number of elements excepted.
  Shape shape() { return integers(0, kMaxDimension, kMaxRank); }
  const nlohmann::json& any();
  const nlohmann::json& peek() const;
  bool at_end() const { return next_ == list_.size(); }
  /// Throws Error where items are left.
  void finish() const;

  [[noreturn]] void refuse(std::string what, std::string expected = {},
                           std::string found = {}) const;

 private:
  const nlohmann::json& list_;
  std::string_view section_;
  size_t index_;
  size_t next_ = 0;
};

/// A field that is a list of at most `limit` items.
const nlohmann::json& list_field(const JsonFields& fields, std::string_view key, size_t limit);

}  // namespace lathe
