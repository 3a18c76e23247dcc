#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lathe {

/// Finds the first stop string in a text that comes in pieces, and holds back what may still be the
/// beginning of one. What comes out does not depend on where the pieces are cut: the stop string
/// that is complete first wins, the longest where several end at the same byte.
class StopStrings {
 public:
  /// Throws Error for an empty stop string.
  explicit StopStrings(std::vector<std::string> stops);

  /// Takes the next piece. Returns the text that is now certain to be before any stop string.
  std::string push(std::string_view piece);
  /// A stop string has been found: no more text comes out.
  bool found() const { return found_; }
  /// The text is over: returns what was held back.
  std::string finish();

 private:
  size_t longest_stop_at_end_of(std::string_view text) const;
  size_t longest_beginning_at_end_of(std::string_view text) const;

  std::vector<std::string> stops_;
  std::string held_;
  bool found_ = false;
};

}  // namespace lathe
