#include "decode/stop_strings.h"

#include <algorithm>
#include <utility>

#include "support/error.h"

namespace lathe {

StopStrings::StopStrings(std::vector<std::string> stops) : stops_(std::move(stops)) {
  for (const std::string& stop : stops_) {
    if (stop.empty()) fail({.what = "a stop string is empty", .advice = "leave it out"});
  }
}

std::string StopStrings::push(std::string_view piece) {
  if (found_) return {};
  if (stops_.empty()) return std::string(piece);
  for (const char byte : piece) {
    held_ += byte;
    if (const size_t stop = longest_stop_at_end_of(held_); stop > 0) {
      found_ = true;
      held_.resize(held_.size() - stop);
      return std::exchange(held_, {});
    }
  }
  const size_t certain = held_.size() - longest_beginning_at_end_of(held_);
  std::string text = held_.substr(0, certain);
  held_.erase(0, certain);
  return text;
}

std::string StopStrings::finish() { return std::exchange(held_, {}); }

size_t StopStrings::longest_stop_at_end_of(std::string_view text) const {
  size_t longest = 0;
  for (const std::string& stop : stops_) {
    if (text.ends_with(stop)) longest = std::max(longest, stop.size());
  }
  return longest;
}

size_t StopStrings::longest_beginning_at_end_of(std::string_view text) const {
  size_t longest = 0;
  for (const std::string_view stop : stops_) {
    for (size_t size = std::min(text.size(), stop.size() - 1); size > longest; --size) {
      if (text.ends_with(stop.substr(0, size))) longest = size;
    }
  }
  return longest;
}

}  // namespace lathe
