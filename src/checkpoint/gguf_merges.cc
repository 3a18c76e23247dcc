#include "checkpoint/gguf_merges.h"

#include <string>
#include <string_view>
#include <unordered_set>

#include "support/error.h"

namespace lathe {

nlohmann::json stored_merges(const Gguf& gguf, const Vocabulary& vocabulary) {
  constexpr std::string_view kMerges = "tokenizer.ggml.merges";
  const auto* merges = gguf.strings(kMerges);
  if (merges == nullptr) {
    fail({.what = "the tokenizer has no merges",
          .where = gguf.where() + ": " + std::string(kMerges)});
  }
  const std::unordered_set<std::string_view> known(vocabulary.tokens.begin(),
                                                   vocabulary.tokens.end());
  nlohmann::json out = nlohmann::json::array();
  for (const std::string_view merge : *merges) {
    // A part may itself begin with a space in no byte-level vocabulary, so the first one separates.
    const size_t space = merge.find(' ', 1);
    const bool two = space != std::string_view::npos && space + 1 < merge.size();
    const std::string left(two ? merge.substr(0, space) : "");
    const std::string right(two ? merge.substr(space + 1) : "");
    if (!two || !known.contains(left) || !known.contains(right) || !known.contains(left + right)) {
      fail({.what = "a merge does not fit the vocabulary",
            .where = gguf.where() + ": " + std::string(kMerges),
            .expected = "two tokens that make a third",
            .found = '"' + printable(merge, 60) + '"'});
    }
    out.push_back({left, right});
  }
  return out;
}

}  // namespace lathe
