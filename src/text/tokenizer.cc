#include "text/tokenizer.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "support/error.h"
#include "text/control_marks.h"
#include "text/ffi.h"

namespace lathe {
namespace {

struct Close {
  void operator()(LatheTokenizer* tokenizer) const { lathe_tokenizer_close(tokenizer); }
};

bool fits_id(int64_t id) { return id >= 0 && id <= std::numeric_limits<uint32_t>::max(); }

}  // namespace

struct Tokenizer::Impl {
  std::unique_ptr<LatheTokenizer, Close> handle;
  std::string where;
  int64_t vocab_size = 0;
  std::vector<std::string> specials;
  std::vector<int64_t> prefix;
  std::vector<int64_t> suffix;

  std::vector<int64_t> encode(std::string_view text, bool add_special, char32_t mark) const {
    LatheOwnedIds ids;
    LatheOwnedText error;
    if (!lathe_tokenizer_encode(handle.get(), borrow(text), add_special, mark, &ids, &error)) {
      fail({.what = printable(take(error)), .where = where});
    }
    std::vector<int64_t> result(ids.data, ids.data + ids.size);
    lathe_text_free_ids(ids);
    return result;
  }
};

Tokenizer::Tokenizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::~Tokenizer() = default;

std::shared_ptr<const Tokenizer> Tokenizer::from_json(std::string_view tokenizer_json,
                                                      const std::string& where) {
  auto impl = std::make_unique<Impl>();
  impl->where = where;
  LatheTokenizer* handle = nullptr;
  LatheOwnedText error;
  if (!lathe_tokenizer_open(borrow(tokenizer_json), &handle, &error)) {
    fail({.what = "not a tokenizer.json that can be used (" + printable(take(error)) + ")",
          .where = where,
          .advice = "copy the file from the model's page again"});
  }
  impl->handle.reset(handle);
  LatheOwnedText json;
  if (!lathe_tokenizer_describe(handle, &json, &error)) {
    fail({.what = printable(take(error)), .where = where});
  }
  const auto description = nlohmann::json::parse(take(json));
  description.at("vocab_size").get_to(impl->vocab_size);
  description.at("specials").get_to(impl->specials);
  description.at("prefix").get_to(impl->prefix);
  description.at("suffix").get_to(impl->suffix);
  return std::shared_ptr<const Tokenizer>(new Tokenizer(std::move(impl)));
}

std::vector<int64_t> Tokenizer::encode(std::string_view text, bool add_special,
                                       Specials specials) const {
  if (specials == Specials::parse || !spells_any(text, impl_->specials)) {
    return impl_->encode(text, add_special, 0);
  }
  const char32_t mark = unused_mark({text});
  return impl_->encode(mark_spellings(text, impl_->specials, mark), add_special, mark);
}

std::vector<int64_t> Tokenizer::encode_marked(std::string_view text, char32_t mark) const {
  return impl_->encode(text, false, mark);
}

std::string Tokenizer::decode(std::span<const int64_t> ids, bool skip_special) const {
  std::vector<uint32_t> narrow;
  narrow.reserve(ids.size());
  for (const int64_t id : ids) {
    if (kind_of(id) == Kind::absent) {
      fail({.what = "token id is not in the vocabulary",
            .where = impl_->where,
            .expected = "ids of the vocabulary of " + std::to_string(vocab_size()) + " tokens",
            .found = std::to_string(id)});
    }
    narrow.push_back(static_cast<uint32_t>(id));
  }
  LatheOwnedText text;
  LatheOwnedText error;
  if (!lathe_tokenizer_decode(impl_->handle.get(), narrow.data(), narrow.size(), skip_special,
                              &text, &error)) {
    fail({.what = printable(take(error)), .where = impl_->where});
  }
  return take(text);
}

std::optional<int64_t> Tokenizer::id_of(std::string_view token) const {
  const int64_t id = lathe_tokenizer_id_of(impl_->handle.get(), borrow(token));
  return id < 0 ? std::nullopt : std::optional(id);
}

int64_t Tokenizer::vocab_size() const { return impl_->vocab_size; }
const std::vector<std::string>& Tokenizer::special_tokens() const { return impl_->specials; }
const std::vector<int64_t>& Tokenizer::prefix() const { return impl_->prefix; }
const std::vector<int64_t>& Tokenizer::suffix() const { return impl_->suffix; }

Tokenizer::Kind Tokenizer::kind_of(int64_t id) const {
  if (!fits_id(id)) return Kind::absent;
  return static_cast<Kind>(lathe_tokenizer_kind_of(impl_->handle.get(), static_cast<uint32_t>(id)));
}

}  // namespace lathe
