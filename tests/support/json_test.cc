#include "support/json.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/utf8.h"

namespace lathe {
namespace {

using testing::expect_error;

void expect_bad(const std::string& text, const std::vector<std::string>& parts) {
  SCOPED_TRACE(text.substr(0, 40));
  expect_error([&] { parse_json(text, "config.json"); }, parts);
}

TEST(ParseJson, NamesTheFileAndTheByte) {
  expect_bad("", {"config.json", "no text at all"});
  expect_bad("{\"a\": 1,}", {"config.json: not valid JSON", "byte 9"});
  expect_bad("\"\xFF\"", {"not valid JSON"});
  expect_bad("{} {}", {"not valid JSON"});
  expect_bad("1e999", {"a number out of range"});
}

TEST(ParseJson, RefusesAKeyGivenTwiceInOneObject) {
  expect_bad(R"({"a": {"x": 1}, "b": {"x": 2, "x": 3}})", {"given twice", "\"x\""});
  EXPECT_EQ(parse_json(R"({"a": {"x": 1}, "b": {"x": 2}})", "f")["b"]["x"], 2);
}

TEST(ParseJson, RefusesDeepNestingBeforeItCosts) {
  expect_bad(std::string(1'000'000, '['), {"nested too deeply"});
  EXPECT_TRUE(parse_json(std::string(64, '[') + std::string(64, ']'), "f").is_array());
}

TEST(JsonFields, ReadsWhatIsThereAndTakesNullAsAbsent) {
  const nlohmann::json json = {{"n", 7},    {"w", 2048.0}, {"x", 0.5},
                               {"b", true}, {"s", "t"},    {"z", nullptr}};
  const JsonFields fields(json, "f");
  EXPECT_EQ(fields.integer("n", 0, 10), 7);
  EXPECT_EQ(fields.integer("w", 0, 4096), 2048);
  EXPECT_EQ(fields.number("x", 0, 1), 0.5);
  EXPECT_EQ(fields.optional_boolean("b"), true);
  EXPECT_EQ(fields.string("s"), "t");
  EXPECT_FALSE(fields.optional_integer("z", 0, 1).has_value());
  EXPECT_TRUE(fields.is_null("z"));
  EXPECT_FALSE(fields.is_null("n") || fields.is_null("none"));
  EXPECT_EQ(fields.find("none"), nullptr);
}

TEST(JsonFields, ReadsListsAndObjects) {
  const nlohmann::json json = {{"ids", {1, 2.0, 3}}, {"parts", {{"a", 1}}}, {"n", 7}};
  const JsonFields fields(json, "f");
  EXPECT_EQ(fields.integers("ids", 0, 9), (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(fields.list("ids").size(), 3u);
  EXPECT_EQ(fields.object("parts"), json["parts"]);
  expect_error([&] { fields.integers("ids", 0, 2); }, {"f: ids", "from 0 to 2", "found 3"});
  EXPECT_EQ(fields.numbers("ids", 0.5, 9.0), (std::vector<double>{1.0, 2.0, 3.0}));
  expect_error([&] { fields.numbers("ids", 1.5, 9.0); }, {"f: ids", "from 1.5", "found 1"});
  expect_error([&] { fields.list("n"); }, {"f: n", "a list", "found 7"});
  expect_error([&] { fields.object("ids"); }, {"f: ids", "an object", "a list of 3"});
  expect_error([&] { fields.list("none"); }, {"f: none", "a list", "nothing"});
}

TEST(JsonFields, NamesFileAndFieldOfWhatIsWrong) {
  const nlohmann::json json = {
      {"n", 7}, {"x", 0.5}, {"s", "t"}, {"big", 1e300}, {"huge", 18446744073709551615u}};
  const JsonFields fields(json, "f");
  expect_error([&] { fields.integer("none", 0, 1); }, {"f: none", "missing"});
  expect_error([&] { fields.integer("n", 0, 5); }, {"f: n", "from 0 to 5", "found 7"});
  expect_error([&] { fields.integer("x", 0, 5); }, {"f: x", "whole number", "0.5"});
  expect_error([&] { fields.integer("big", 0, 5); }, {"f: big", "1e+300"});
  expect_error([&] { fields.integer("huge", 0, 5); }, {"f: huge", "18446744073709551615"});
  expect_error([&] { fields.number("s", 0, 5); }, {"f: s", "a number", "\"t\""});
  expect_error([&] { fields.number("n", 0, 5); }, {"f: n", "out of range"});
  expect_error([&] { fields.optional_boolean("s"); }, {"f: s", "true or false"});
  expect_error([&] { fields.string("n"); }, {"f: n", "a string"});
  expect_error([] { JsonFields(nlohmann::json::array({1}), "f"); }, {"an object", "a list of 1"});
}

TEST(Utf8, AcceptsExactlyWhatUnicodeCallsWellFormed) {
  for (const char* good : {"", "a", "\xC3\xA9", "\xE2\x96\x81", "\xF0\x9F\x99\x82", "\xED\x9F\xBF",
                           "\xF4\x8F\xBF\xBF"}) {
    EXPECT_TRUE(is_utf8(good));
  }
  for (const char* bad : {"\x80", "\xC0\x80", "\xC3", "\xE0\x80\x80", "\xED\xA0\x80", "\xE2\x96",
                          "\xF0\x80\x80\x80", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "a\xFF"}) {
    EXPECT_FALSE(is_utf8(bad));
  }
}

}  // namespace
}  // namespace lathe
