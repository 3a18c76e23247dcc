#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lathe {

// Marking keeps control tokens that are spelled out in a text from being found there, without
// changing what the text says: a Unicode noncharacter that occurs nowhere else is put inside each
// spelling, and is taken out again after added tokens have been looked for
// (Tokenizer::encode_marked).

/// A noncharacter that is in none of `texts`. Throws Error where all of them are used.
char32_t unused_mark(const std::vector<std::string_view>& texts);

/// Whether `text` spells one of `specials` in full.
bool spells_any(std::string_view text, const std::vector<std::string>& specials);

/// `text` with `mark` behind the first character of every spelling of `specials`, overlapping ones
/// included.
std::string mark_spellings(std::string_view text, const std::vector<std::string>& specials,
                           char32_t mark);

/// mark_spellings, and also a mark wherever `text` could become part of a spelling together with
/// text put before or behind it: before a beginning that ends some spelling, and behind the first
/// character of an ending that begins one. White space around the text is looked past, since
/// templates trim it.
std::string mark_message(std::string_view text, const std::vector<std::string>& specials,
                         char32_t mark);

}  // namespace lathe
