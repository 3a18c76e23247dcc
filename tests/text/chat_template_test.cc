#include "text/chat_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "support/error.h"
#include "support/mapped_file.h"

namespace lathe {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using Json = nlohmann::ordered_json;

std::string render(const char* source, const Json& context = Json::object(),
                   const ClockTime& now = std::nullopt) {
  return ChatTemplate::parse(source).render(context, now);
}

std::string error_of(const char* source, const Json& context = Json::object()) {
  try {
    return "rendered " + render(source, context);
  } catch (const Error& error) {
    return error.what();
  }
}

// 440 conversations through seven templates, rendered by transformers 5.24 with Jinja 3.1.6
// (tests/data/chat/chat_templates.json). Its own words for an error are only asked for where the
// template chose them.
TEST(ChatTemplate, RendersAsTransformersDoes) {
  const std::filesystem::path data = LATHE_TEST_DATA;
  const Json golden = Json::parse(read_text_file(data / "chat" / "chat_templates.json"));
  const ClockTime now = golden.at("strftime_now").get<std::string>();
  size_t errors = 0;
  for (const Json& item : golden.at("cases")) {
    SCOPED_TRACE(item.at("template").get<std::string>() + ": " + item.at("name").dump());
    const auto source =
        golden.at("templates").at(item.at("template").get<std::string>()).get<std::string>();
    const ChatTemplate chat_template = ChatTemplate::parse(source);
    if (item.contains("rendered")) {
      EXPECT_EQ(chat_template.render(item.at("context"), now),
                item.at("rendered").get<std::string>());
      continue;
    }
    ++errors;
    try {
      ADD_FAILURE() << "rendered " << chat_template.render(item.at("context"), now);
    } catch (const Error& error) {
      if (item.at("error_type") == "TemplateError") {
        EXPECT_THAT(error.what(), HasSubstr(item.at("error").get<std::string>()));
      }
    }
  }
  EXPECT_EQ(golden.at("cases").size(), 440u);
  EXPECT_EQ(errors, 32u);
}

TEST(ChatTemplate, GenerationBlocksPrintTheirBody) {
  const Json context = {{"messages", {{{"role", "user"}, {"content", "é"}}}}};
  EXPECT_EQ(render("{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}"
                   "{% endfor %}",
                   context),
            "é");
  EXPECT_EQ(render("a\n  {%- generation -%}\n b \n {%- endgeneration -%} c"), "abc");
  EXPECT_EQ(render("{% set x = 1 %}{% generation %}{% set x = 2 %}{% endgeneration %}{{ x }}"), "1")
      << "what is set inside stays inside, as in Jinja's call blocks";
}

TEST(ChatTemplate, TheClockCanBeFixed) {
  const ClockTime now = "2024-07-04T09:05:07";
  EXPECT_EQ(render("{{ strftime_now('%d %b %Y') }}", Json::object(), now), "04 Jul 2024");
  EXPECT_EQ(
      render("{{ strftime_now('%A, %-d. %B %Y %H:%M:%S %j %f|%z|%%') }}", Json::object(), now),
      "Thursday, 4. July 2024 09:05:07 186 000000||%");
  EXPECT_EQ(render("{{ strftime_now('é %Y 年') }}", Json::object(), now), "é 2024 年");
  EXPECT_THAT(render("{{ strftime_now('%Y') }}"), MatchesRegex("2[0-9][0-9][0-9]"));
}

TEST(ChatTemplate, AClockThatIsNoTimeIsRefused) {
  for (const char* now : {"today", "2024-07-04", "2024-13-04T09:05:07", "2024-02-30T09:05:07"}) {
    EXPECT_THROW(render("x", Json::object(), now), Error) << now;
  }
}

// Expected texts: Python's json.dumps(value, ensure_ascii=False) with the same options.
TEST(ChatTemplate, TojsonIsPythonsJsonDumps) {
  EXPECT_EQ(render("{{ {'a': 'é'}|tojson(ensure_ascii=False) }}"), R"({"a": "é"})");
  EXPECT_EQ(render("{{ {'a': 'é😀'}|tojson(ensure_ascii=True) }}"),
            R"({"a": "\u00e9\ud83d\ude00"})");
  const Json context = Json::parse(R"({"v": {"b": [1, 2.0, 1e16, 1e-5, true, null], "a": {},
                                             "c": "<&'\"\\\n\t\u0001\u007f>"}})");
  EXPECT_EQ(render("{{ v|tojson }}", context),
            R"({"b": [1, 2.0, 1e+16, 1e-05, true, null], "a": {}, "c": "<&'\"\\\n\t\u0001)"
            "\x7f>\"}");
  EXPECT_EQ(render("{{ v|tojson(sort_keys=true, separators=(',', ':')) }}", context),
            R"({"a":{},"b":[1,2.0,1e+16,1e-05,true,null],"c":"<&'\"\\\n\t\u0001)"
            "\x7f>\"}");
  EXPECT_EQ(render("{{ {'a': [1, {}], 'b': []}|tojson(indent=2) }}"),
            "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": []\n}");
}

TEST(ChatTemplate, PrintsValuesAsPythonDoes) {
  EXPECT_EQ(render("{{ true }} {{ none }} {{ [1, 'a', 1.5] }} {{ {'k': none} }}"),
            "True None [1, 'a', 1.5] {'k': None}");
}

TEST(ChatTemplate, TestsTellTypesApartAsJinjaDoes) {
  EXPECT_EQ(render("{% for v in ['s', [1], {}, 1, none] %}{{ v is string }} {{ v is sequence }} "
                   "{{ v is mapping }} {{ v is iterable }};{% endfor %}"),
            "True True False True;False True False True;False True True True;"
            "False False False False;False False False False;");
}

TEST(ChatTemplate, HasPythonsMethods) {
  EXPECT_EQ(render("{{ 'a-b-c'.rsplit('-', 1) }}{{ ' a b  c '.rsplit(none, 1) }}"),
            "['a-b', 'c'][' a b', 'c']");
  EXPECT_EQ(render("{{ 'abc'.removeprefix('a') }}{{ 'abc'.removesuffix('c') }}"), "bcab");
  EXPECT_EQ(render("{{ 'a=b=c'.partition('=')|list }}{{ 'a=b=c'.rpartition('=')|list }}"),
            "['a', '=', 'b=c']['a=b', '=', 'c']");
  EXPECT_EQ(render("{{ 'abcb'.index('b') }}{{ 'abcb'.rindex('b') }}{{ [1, 2].index(2) }}"), "131");
  EXPECT_EQ(render("{{ ' x '.strip() }}{{ 'a b'.split()[-1] }}{{ 'ab'.startswith('a') }}"),
            "xbTrue");
  EXPECT_EQ(render("{% for k, v in s.items() %}{{ k }}={{ v }};{% endfor %}{{ s.get('no', 'd') }}",
                   {{"s", {{"items", "x"}, {"b", 2}}}}),
            "items=x;b=2;d")
      << "a method goes before a key of the same name";
}

TEST(ChatTemplate, HasLoopControlsNamespacesAndMacros) {
  EXPECT_EQ(render("{% for i in range(9) %}{% if i == 1 %}{% continue %}{% endif %}"
                   "{% if i == 4 %}{% break %}{% endif %}{{ i }}{% endfor %}"),
            "023");
  EXPECT_EQ(render("{% set ns = namespace(n=0) %}{% for i in range(3) %}{% set ns.n = ns.n + i %}"
                   "{% endfor %}{{ ns.n }}"),
            "3");
  EXPECT_EQ(render("{% macro twice(x, by=2) %}{{ x * by }}{% endmacro %}{{ twice('ab') }}"),
            "abab");
}

TEST(ChatTemplate, TrimsBlocksAsTransformersSetsJinja) {
  EXPECT_EQ(render("  {% if true %}\nx\n  {% endif %}\n{{ 1 }}\n"), "x\n1");
}

TEST(ChatTemplate, ErrorsNameTheLineOfTheTemplate) {
  EXPECT_EQ(error_of("a\n\n{{ raise_exception('No  roles') }}"),
            "chat template: line 3: No  roles");
  EXPECT_THAT(error_of("\n{% if %}"), HasSubstr("chat template: line 2"));
  EXPECT_THAT(error_of("{{ nothing.at.all }}"), HasSubstr("line 1"));
  EXPECT_THAT(error_of("{{ no_such_function() }}"), HasSubstr("no_such_function"));
  EXPECT_THAT(error_of("{{ 'a' + [1] }}"), HasSubstr("line 1"));
  EXPECT_THAT(error_of("\n\n{{ raise_exception('a\nb') }}"), HasSubstr("a b")) << "one line";
}

}  // namespace
}  // namespace lathe
