#include <utility>

#include "text/tokenizer.h"

namespace lathe {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

constexpr size_t kLongestOpen = 8;  // ids that may stay open before a cut is looked for

}  // namespace

TextStream::TextStream(std::shared_ptr<const Tokenizer> tokenizer, bool skip_special)
    : tokenizer_(std::move(tokenizer)), skip_special_(skip_special) {}

std::string TextStream::push(int64_t id) {
  const Tokenizer::Kind kind = tokenizer_->kind_of(id);
  if (kind == Tokenizer::Kind::absent) return {};
  if (kind == Tokenizer::Kind::special && skip_special_) return {};
  window_.push_back(id);
  if (kind == Tokenizer::Kind::byte) return {};

  // A U+FFFD at the end may be the beginning of a character; those before it are final.
  const std::string text = tokenizer_->decode(window_, skip_special_);
  const bool open = text.ends_with(kReplacement);
  std::string piece = give_out(text, open ? text.size() - kReplacement.size() : text.size());
  drop_settled(text, !open);
  return piece;
}

std::string TextStream::finish() {
  const std::string text = tokenizer_->decode(window_, skip_special_);
  std::string piece = give_out(text, text.size());
  window_.clear();
  context_ = 0;
  given_ = 0;
  return piece;
}

std::string TextStream::give_out(const std::string& text, size_t end) {
  if (end <= given_) return {};
  std::string piece = text.substr(given_, end - given_);
  given_ = end;
  return piece;
}

/// Moves the front of the window forward where what comes later cannot depend on it any more.
void TextStream::drop_settled(const std::string& text, bool all_given) {
  if (all_given) {
    // The ids since the last move become the context, provided that they show something: an empty
    // text would leave the next token at the start of the text as far as the decoder can tell.
    const std::vector<int64_t> context(window_.begin() + static_cast<ptrdiff_t>(context_),
                                       window_.end());
    const std::string shown = tokenizer_->decode(context, skip_special_);
    if (shown.empty()) return;
    window_ = context;
    context_ = window_.size();
    given_ = shown.size();
    return;
  }
  // Bytes that never become characters leave the text open for ever. Between two ids whose texts
  // simply add up nothing is open.
  if (window_.size() < context_ + kLongestOpen) return;
  const auto middle = window_.end() - 1;
  const std::vector<int64_t> before(window_.begin(), middle);
  const std::vector<int64_t> after(middle, window_.end());
  const std::string shown = tokenizer_->decode(before, skip_special_);
  const std::string rest = tokenizer_->decode(after, skip_special_);
  if (rest.empty() || shown + rest != text) return;
  window_ = after;
  context_ = 0;
  given_ -= shown.size();
}

}  // namespace lathe
