#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

/// Text to token ids and back: Hugging Face's `tokenizers` behind a C ABI (rust/text). Immutable;
/// may be used by several threads.
class Tokenizer {
 public:
  /// `tokenizer_json`: the text of a tokenizer.json. Throws Error (`where` names the file).
  static std::shared_ptr<const Tokenizer> from_json(std::string_view tokenizer_json,
                                                    const std::string& where);
  ~Tokenizer();

  /// How control tokens ("<|im_start|>") written out in the text are taken.
  enum class Specials : uint8_t {
    parse,   ///< as the control token, as Hugging Face's tokenizers do
    as_text  ///< as the characters they are: for text that comes from a user
  };
  /// Ids of `text`. `add_special`: also add what the tokenizer adds by itself (BOS).
  /// Throws Error for invalid UTF-8, and with `as_text` where the tokenizer has no other way to
  /// write the characters than the control token.
  std::vector<int64_t> encode(std::string_view text, bool add_special,
                              Specials specials = Specials::parse) const;
  /// Ids of `text` as if the character `mark` were not there, except that no control token is found
  /// across one. Throws Error as encode() does.
  std::vector<int64_t> encode_marked(std::string_view text, char32_t mark) const;
  /// Text of `ids`. Incomplete characters become U+FFFD, as in Hugging Face's decode.
  /// Throws Error for an id that is not in the vocabulary.
  std::string decode(std::span<const int64_t> ids, bool skip_special) const;

  /// The id of a token given by its exact text, special tokens included.
  std::optional<int64_t> id_of(std::string_view token) const;
  int64_t vocab_size() const;  ///< added tokens included

  /// The spellings of the control tokens, sorted.
  const std::vector<std::string>& special_tokens() const;
  /// What the tokenizer puts before a text by itself (BOS), and behind it.
  const std::vector<int64_t>& prefix() const;
  const std::vector<int64_t>& suffix() const;

  /// What an id is when ids are turned into text one by one.
  enum class Kind : uint8_t {
    absent,   ///< not in the vocabulary
    text,     ///< an ordinary token
    special,  ///< a control token
    byte      ///< one byte of a character that the vocabulary lacks ("<0xE2>")
  };
  Kind kind_of(int64_t id) const;

 private:
  struct Impl;
  explicit Tokenizer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Turns generated ids into text as they come. The pieces concatenate to decode(all ids); none ends
/// inside a character and none holds a U+FFFD that a later token would have completed. The work for
/// one id does not grow with the number of ids before it.
///
/// Bytes of a byte-fallback tokenizer are held until the run of them ends: one wrong byte turns all
/// characters of its run into U+FFFD, so none of them is settled earlier.
class TextStream {
 public:
  TextStream(std::shared_ptr<const Tokenizer> tokenizer, bool skip_special);
  /// The text that `id` completes; may be empty. Ids that are not in the vocabulary give nothing.
  std::string push(int64_t id);
  /// What is left at the end (U+FFFD for bytes that never became a character).
  std::string finish();

 private:
  std::string give_out(const std::string& text, size_t end);
  void drop_settled(const std::string& text, bool all_given);

  std::shared_ptr<const Tokenizer> tokenizer_;
  bool skip_special_;
  std::vector<int64_t>
      window_;          // the newest ids: some settled ones for context, then the open ones
  size_t context_ = 0;  // of those, how many were settled when the window last moved
  size_t given_ = 0;    // bytes of decode(window_) that have been given out
};

}  // namespace lathe
