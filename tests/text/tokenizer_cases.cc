#include "text/tokenizer_cases.h"

#include <gtest/gtest.h>

#include "support/mapped_file.h"

namespace lathe {
namespace {

using Ids = std::vector<int64_t>;

const std::filesystem::path kData = LATHE_TEST_DATA;

void expect_case_holds(const Tokenizer& tokenizer, const nlohmann::json& item) {
  const auto text = item.at("text").get<std::string>();
  const Ids ids = item.at("ids");
  EXPECT_EQ(tokenizer.encode(text, false), ids);
  EXPECT_EQ(tokenizer.encode(text, true), item.at("ids_with_special").get<Ids>());
  EXPECT_EQ(tokenizer.decode(ids, false), item.at("decoded").get<std::string>());
  EXPECT_EQ(tokenizer.decode(ids, true), item.at("decoded_skip_special").get<std::string>());
}

/// The pieces are whole characters, hold no U+FFFD that goes away later, and add up to the text.
void expect_stream_holds(const std::shared_ptr<const Tokenizer>& tokenizer,
                         const nlohmann::json& item) {
  const Ids ids = item.at("ids");
  const auto prefixes = item.at("prefix_decodes").get<std::vector<std::string>>();
  TextStream stream(tokenizer, false);
  std::string so_far;
  for (size_t i = 0; i < ids.size(); ++i) {
    so_far += stream.push(ids[i]);
    EXPECT_TRUE(prefixes.back().starts_with(so_far)) << "after " << i + 1 << " ids: " << so_far;
    EXPECT_TRUE(prefixes[i + 1].starts_with(so_far)) << "after " << i + 1 << " ids: " << so_far;
  }
  EXPECT_EQ(so_far + stream.finish(), prefixes.back());
}

}  // namespace

std::string streamed(const std::shared_ptr<const Tokenizer>& tokenizer,
                     const std::vector<int64_t>& ids, bool skip_special) {
  TextStream stream(tokenizer, skip_special);
  std::string text;
  for (const int64_t id : ids) text += stream.push(id);
  return text + stream.finish();
}

TokenizerCases load_cases(const std::filesystem::path& golden,
                          const std::filesystem::path& tokenizer_json) {
  return {Tokenizer::from_json(read_text_file(tokenizer_json), tokenizer_json.string()),
          nlohmann::json::parse(read_text_file(golden))};
}

TokenizerCases load_cases(const std::string& name) {
  const std::string tiny = "tiny_";
  const std::filesystem::path folder = name.starts_with(tiny)
                                           ? kData / "tiny" / name.substr(tiny.size())
                                           : kData / "tokenizers" / name;
  return load_cases(kData / "tokenizers" / (name + ".json"), folder / "tokenizer.json");
}

std::vector<std::string> tokenizer_names() {
  return {"tiny_llama",  "tiny_qwen2", "tiny_smollm3",  "tiny_mistral",
          "tiny_gemma2", "tiny_phi3",  "llama2_legacy", "llama2_metaspace"};
}

void expect_cases_hold(const TokenizerCases& cases) {
  const auto& [tokenizer, golden] = cases;
  EXPECT_EQ(tokenizer->vocab_size(), golden.at("vocab_size").get<int64_t>());
  for (const auto& item : golden.at("cases")) {
    SCOPED_TRACE(item.at("text").dump());
    expect_case_holds(*tokenizer, item);
    const Ids ids = item.at("ids");
    EXPECT_EQ(streamed(tokenizer, ids, false), item.at("decoded").get<std::string>());
    EXPECT_EQ(streamed(tokenizer, ids, true), item.at("decoded_skip_special").get<std::string>());
  }
  for (const auto& item : golden.at("random_ids")) {
    SCOPED_TRACE(item.at("ids").dump());
    const Ids ids = item.at("ids");
    EXPECT_EQ(tokenizer->decode(ids, false), item.at("decoded").get<std::string>());
    EXPECT_EQ(streamed(tokenizer, ids, false), item.at("decoded").get<std::string>());
    EXPECT_EQ(streamed(tokenizer, ids, true), item.at("decoded_skip_special").get<std::string>());
  }
  for (const auto& item : golden.at("stream")) {
    SCOPED_TRACE(item.at("text").dump());
    expect_stream_holds(tokenizer, item);
  }
}

}  // namespace lathe
