// Files and prompts that mean harm, or are just broken: one error line each, and nothing else.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "support/error.h"
#include "support/mapped_file.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace lathe {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::ordered_json;

std::string repeated(const std::string& text, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += text;
  return out;
}

std::string tiny_tokenizer() {
  return read_text_file(std::filesystem::path(LATHE_TEST_DATA) / "tiny" / "qwen2" /
                        "tokenizer.json");
}

void expect_refused(const std::string& tokenizer_json) {
  try {
    Tokenizer::from_json(tokenizer_json, "m/tokenizer.json");
    ADD_FAILURE() << "opened " << printable(tokenizer_json);
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("m/tokenizer.json: "));
    EXPECT_THAT(error.what(), Not(HasSubstr("\n")));
  }
}

TEST(HostileTokenizer, BrokenFilesAreRefused) {
  for (const char* text :
       {"", "{", "[]", "null", "{}", "\xFF\xFE", R"({"version": "9"})",
        R"({"model": {"type": "BPE"}})",
        R"({"model": {"type": "BPE", "vocab": {}, "merges": ["a b"]}})",
        R"({"model": {"type": "BPE", "vocab": {"a": -1}, "merges": []}})",
        R"({"model": {"type": "BPE", "vocab": {"a": 4294967296}, "merges": []}})",
        "version https://git-lfs.github.com/spec/v1\n"}) {
    expect_refused(text);
  }
  expect_refused(repeated("[", 100000));
  expect_refused(R"({"normalizer": )" + repeated(R"({"type":"Sequence","normalizers":[)", 50000));
}

TEST(HostileTokenizer, EveryCutOfAFileIsRefused) {
  const std::string whole = tiny_tokenizer();
  for (size_t size = 0; size + 1 < whole.size(); size += 997) {
    expect_refused(whole.substr(0, size));
  }
}

TEST(HostileTokenizer, APartThatIsNotKnownIsNamedByItsKey) {
  const auto error_with = [](const char* key, const char* part) -> std::string {
    Json json = Json::parse(tiny_tokenizer());
    json[Json::json_pointer(key)] = Json::parse(part);
    try {
      Tokenizer::from_json(json.dump(), "m/tokenizer.json");
      return "opened";
    } catch (const Error& error) {
      return error.what();
    }
  };
  const char* novel = R"({"type": "Novel"})";
  EXPECT_THAT(error_with("/normalizer", novel),
              HasSubstr("m/tokenizer.json: not a tokenizer.json that can be used (normalizer: "
                        "\"Novel\" is not known"));
  EXPECT_THAT(error_with("/pre_tokenizer/pretokenizers/0", novel),
              HasSubstr("(pre_tokenizer.pretokenizers[0]: \"Novel\" is not known"));
  EXPECT_THAT(error_with("/post_processor", novel), HasSubstr("(post_processor: \"Novel\""));
  EXPECT_THAT(error_with("/decoder", R"({"type": "Sequence", "decoders": [{"type": "Novel"}]})"),
              HasSubstr("(decoder.decoders[0]: \"Novel\""));
  EXPECT_THAT(error_with("/decoder", "7"), HasSubstr("(decoder: expected an object"));
  EXPECT_THAT(error_with("/model/type", R"("Novel")"),
              HasSubstr("(model.type: \"Novel\" is not known)"));
}

/// tiny/qwen2 with another first regular expression.
std::string with_regex(const std::string& regex) {
  Json json = Json::parse(tiny_tokenizer());
  json["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = regex;
  return json.dump();
}

TEST(HostileTokenizer, BrokenRegularExpressionsAreRefused) {
  for (const std::string& regex :
       {std::string("("), std::string("[a"), std::string("(?<=a*)b"), std::string("a{99999999,}"),
        repeated("(", 100000), repeated("(", 5000) + repeated(")", 5000)}) {
    try {
      Tokenizer::from_json(with_regex(regex), "m")->encode("aaaa", false);
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), Not(HasSubstr("\n")));
    }
  }
}

TEST(HostileTokenizer, ARegularExpressionThatBacktracksForEverEnds) {
  const auto tokenizer = Tokenizer::from_json(with_regex("(a|a)*(a|a)*(a|a)*b"), "m");
  try {
    tokenizer->encode(repeated("a", 40), false);
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("m: "));
  }
}

TEST(HostileText, InvalidUtf8IsRefusedWithItsPlace) {
  const auto tokenizer = Tokenizer::from_json(tiny_tokenizer(), "m");
  for (const std::string& bytes : {std::string("ab\xFF"), std::string("ab\xC3"),
                                   std::string("ab\xED\xA0\x80"), std::string("ab\xC0\x80")}) {
    for (const auto specials : {Tokenizer::Specials::parse, Tokenizer::Specials::as_text}) {
      try {
        tokenizer->encode(bytes, true, specials);
        ADD_FAILURE();
      } catch (const Error& error) {
        EXPECT_STREQ(error.what(), "m: text is not valid UTF-8 at byte 2");
      }
    }
  }
}

std::string error_of(const std::string& source) {
  try {
    return "rendered " + std::to_string(ChatTemplate::parse(source).render(Json::object()).size()) +
           " bytes";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(HostileTemplate, LoopsWithoutEndAreEnded) {
  const std::string thousand = "{% for i in range(1000) %}";
  EXPECT_THAT(error_of(repeated(thousand, 4) + "x" + repeated("{% endfor %}", 4)),
              HasSubstr("more than 4000000 steps"));
  EXPECT_THAT(error_of("{% set ns = namespace(s='0123456789') %}{% for i in range(99) %}"
                       "{% set ns.s = ns.s ~ ns.s %}{% endfor %}{{ ns.s|length }}"),
              HasSubstr("more than 4000000 steps"));
  EXPECT_THAT(error_of("{{ 'x' * 99000000 * 99 }}"), Not(HasSubstr("rendered")));
  EXPECT_THAT(error_of("{{ range(99000000) | list }}"), Not(HasSubstr("rendered")));
}

TEST(HostileTemplate, DeepNestingIsRefused) {
  EXPECT_THAT(error_of("{{ " + repeated("(", 200000)), HasSubstr("chat template: "));
  EXPECT_THAT(error_of("{{ " + repeated("[", 200000)), HasSubstr("chat template: "));
  EXPECT_THAT(error_of(repeated("{% if 1 %}", 20000)), HasSubstr("chat template: "));
  EXPECT_THAT(error_of("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"),
              HasSubstr("chat template: "));
}

TEST(HostileTemplate, LongExpressionsDoNotOverflowTheStack) {
  EXPECT_THAT(error_of("{{ " + repeated("not ", 60000) + "1 }}"), HasSubstr("rendered 4 bytes"));
  EXPECT_THAT(error_of("{{ " + repeated("-", 250000) + "1 }}"), HasSubstr("rendered 1 bytes"));
  EXPECT_THAT(error_of("{{ 1" + repeated("+1", 100000) + " }}"), HasSubstr("rendered 6 bytes"));
  EXPECT_THAT(error_of("{{ x" + repeated("|trim", 50000) + " }}"), HasSubstr("rendered 0 bytes"));
  EXPECT_THAT(error_of("{{ x" + repeated(".y", 100000) + " }}"), HasSubstr("line 1"));
  EXPECT_THAT(error_of(repeated("x", 300000)), HasSubstr("expected at most 262144 bytes"));
}

/// A list in a list in a list ...: as deep as the rounds say, or as the fuel allows.
std::string nested(int rounds) {
  return "{% set ns = namespace(x=[]) %}{% for i in range(1000) %}{% for j in range(" +
         std::to_string(rounds) + ") %}{% set ns.x = [ns.x] %}{% endfor %}{% endfor %}";
}

TEST(HostileTemplate, DeepValuesDoNotOverflowTheStack) {
  EXPECT_THAT(error_of(nested(100) + "x"), HasSubstr("rendered 1 bytes"));
  EXPECT_THAT(error_of(nested(100) + "{{ ns.x|tojson }}"), HasSubstr("nested too deeply"));
  EXPECT_THAT(error_of(nested(100) + "{{ ns.x }}"), HasSubstr("rendered"));
  EXPECT_THAT(error_of(nested(9000) + "x"), HasSubstr("more than 4000000 steps"));
}

TEST(HostileTemplate, DeepVariablesAreRefused) {
  Json deep = 1;
  for (int i = 0; i < 5000; ++i) deep = Json::array({deep});
  EXPECT_THROW(ChatTemplate::parse("x").render({{"v", deep}}), Error);
}

TEST(HostileTemplate, InvalidUtf8IsRefused) {
  EXPECT_THROW(ChatTemplate::parse("\xFF"), Error);
  EXPECT_THROW(ChatTemplate::parse("x").render({{"v", "\xFF"}}), Error);
}

TEST(HostileTemplate, FilesCannotBeRead) {
  for (const char* source : {"{% include '/etc/passwd' %}", "{% import '/etc/passwd' as x %}",
                             "{% extends '/etc/passwd' %}"}) {
    EXPECT_THAT(error_of(source), HasSubstr("chat template: line 1")) << source;
  }
}

}  // namespace
}  // namespace lathe
