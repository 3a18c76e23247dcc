#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/program.h"
#include "cli/small_model.h"

// `tokenize` and `template` against ids and renderings made with Hugging Face's own code.

namespace lathe {
namespace {

using nlohmann::ordered_json;
using testing::expect_refused;
using ::testing::HasSubstr;
using testing::json_output;
using testing::lathe;
using testing::lathe_output;
using testing::read_bytes;
using testing::small_model;
using testing::small_source;
using testing::TestFolder;

const std::string kTokenizer = LATHE_TEST_DATA "/tiny/llama/tokenizer.json";

ordered_json fixture(const std::string& name) {
  return ordered_json::parse(read_bytes(std::string(LATHE_TEST_DATA "/") + name));
}

/// One field of every case of a fixture.
ordered_json column(const ordered_json& cases, const std::string& field) {
  ordered_json values = ordered_json::array();
  for (const ordered_json& item : cases) values.push_back(item[field]);
  return values;
}

TEST(Tokenize, AFileOfTexts) {
  const TestFolder folder;
  const ordered_json cases = fixture("tokenizers/tiny_llama.json")["cases"];
  const std::string texts = folder.write("texts.json", column(cases, "text").dump()).string();
  EXPECT_EQ(json_output({"tokenize", kTokenizer, "--texts", texts}), column(cases, "ids"));
  EXPECT_EQ(json_output({"tokenize", kTokenizer, "--texts", texts, "--special"}),
            column(cases, "ids_with_special"));
}

TEST(Tokenize, AFileOfIdsBackToText) {
  const TestFolder folder;
  const ordered_json cases = fixture("tokenizers/tiny_llama.json")["cases"];
  const std::string ids = folder.write("ids.json", column(cases, "ids").dump()).string();
  EXPECT_EQ(json_output({"tokenize", kTokenizer, "--decodes", ids}), column(cases, "decoded"));
  EXPECT_EQ(json_output({"tokenize", kTokenizer, "--decodes", ids, "--skip-special"}),
            column(cases, "decoded_skip_special"));
}

// "café", from the same fixture.
TEST(Tokenize, OneText) {
  const std::string text = "caf\u00e9";
  for (const std::string& model : {kTokenizer, small_source(), small_model()}) {
    SCOPED_TRACE(model);
    EXPECT_EQ(lathe_output({"tokenize", model, "--text", text}), "66,64,69,127,102\n");
    EXPECT_EQ(lathe_output({"tokenize", model, "--text", text, "--special"}),
              "378,66,64,69,127,102\n");
    EXPECT_EQ(lathe_output({"tokenize", model, "--decode", "66,64,69,127,102"}), text + "\n");
  }
}

TEST(Tokenize, ABareSentencePieceModel) {
  const ordered_json golden = fixture("sentencepiece/golden.json")["models"]["bpe"]["cases"];
  const TestFolder folder;
  const std::string texts = folder.write("texts.json", column(golden, "text").dump()).string();
  EXPECT_EQ(json_output({"tokenize", LATHE_TEST_DATA "/sentencepiece/bpe.model", "--texts", texts}),
            column(golden, "ids"));
}

TEST(Tokenize, JsonIsOneObject) {
  EXPECT_EQ(json_output({"tokenize", kTokenizer, "--text", "caf", "--json"}),
            ordered_json({{"ids", {66, 64, 69}}}));
  EXPECT_EQ(json_output({"tokenize", kTokenizer, "--decode", "66,64,69", "--json"}),
            ordered_json({{"text", "caf"}}));
}

TEST(Tokenize, RefusesIdsOutsideTheVocabulary) {
  expect_refused(lathe({"tokenize", kTokenizer, "--decode", "1,384"}), {kTokenizer, "384"});
  expect_refused(lathe({"tokenize", kTokenizer, "--decode", "-1"}), {kTokenizer, "-1"});
}

TEST(Tokenize, RefusesFilesThatAreNotWhatTheyShouldBe) {
  const TestFolder folder;
  const auto refuse = [&](const char* option, const char* bytes, const char* word) {
    SCOPED_TRACE(bytes);
    const std::string file = folder.write("input.json", bytes).string();
    expect_refused(lathe({"tokenize", kTokenizer, option, file}), {file, word});
  };
  refuse("--texts", "", "not valid JSON");
  refuse("--texts", "[\"a\"", "byte 5");
  refuse("--texts", "[\"\xff\"]", "not valid JSON");
  refuse("--texts", "[1]", "an array of strings");
  refuse("--texts", "{}", "an array of strings");
  refuse("--decodes", "[1]", "an array of arrays of ids");
  refuse("--decodes", "[[\"a\"]]", "an array of arrays of ids");
  expect_refused(lathe({"tokenize", kTokenizer, "--texts", "no/such.json"}), {"no/such.json"});
  expect_refused(lathe({"tokenize", "no/tokenizer.json", "--text", "a"}), {"no/tokenizer.json"});
  const std::string config = LATHE_TEST_DATA "/tiny/llama/config.json";
  expect_refused(lathe({"tokenize", config, "--text", "a"}), {config, "tokenizer.json"});
}

TEST(Tokenize, RefusesTextThatIsNotUtf8) {
  expect_refused(lathe({"tokenize", kTokenizer, "--text", "ab\xff"}),
                 {"--text", "UTF-8", "byte 2"});
}

TEST(Template, AFileOfCases) {
  const TestFolder folder;
  const ordered_json data = fixture("chat/chat_templates.json");
  ordered_json cases = ordered_json::array();
  ordered_json rendered = ordered_json::array();
  for (const ordered_json& item : data["cases"]) {
    if (!item.contains("rendered")) continue;
    cases.push_back({{"template", data["templates"][item["template"].get<std::string>()]},
                     {"context", item["context"]}});
    rendered.push_back({{"rendered", item["rendered"]}});
  }
  ASSERT_FALSE(cases.empty());
  const std::string file = folder.write("cases.json", cases.dump()).string();
  EXPECT_EQ(json_output({"template", "--cases", file, "--now", data["strftime_now"]}), rendered);
}

TEST(Template, ACaseThatFailsDoesNotEndTheOthers) {
  const TestFolder folder;
  const std::string file = folder
                               .write("cases.json", R"([
      {"template": "{{ raise_exception('no') }}", "context": {}},
      {"template": "{{ a }}", "context": {"a": 1}}])")
                               .string();
  const ordered_json results = json_output({"template", "--cases", file});
  EXPECT_THAT(results[0]["error"].get<std::string>(), HasSubstr("no"));
  EXPECT_EQ(results[1], ordered_json({{"rendered", "1"}}));
}

TEST(Template, AFileWithItsContextAndAFixedClock) {
  const TestFolder folder;
  const std::string source =
      folder.write("t.jinja", "{{ name }} on {{ strftime_now('%d %b %Y %H:%M:%S') }}").string();
  const std::string context = folder.write("c.json", R"({"name": "\u00e9"})").string();
  EXPECT_EQ(
      lathe_output({"template", source, "--context", context, "--now", "2024-07-04T09:05:07"}),
      "\u00e9 on 04 Jul 2024 09:05:07");
}

TEST(Template, RefusesWhatItCannotRender) {
  const TestFolder folder;
  const std::string good = folder.write("good.jinja", "{{ strftime_now('%Y') }}").string();
  const std::string broken = folder.write("broken.jinja", "a\n{% if %}").string();
  const std::string bytes = folder.write("bytes.jinja", "\xff").string();
  const std::string context = folder.write("c.json", "{}").string();
  const std::string list = folder.write("list.json", "[]").string();
  const std::string half = folder.write("half.json", "{").string();
  const auto render = [](const std::string& source, const std::string& variables) {
    return lathe({"template", source, "--context", variables});
  };
  expect_refused(render(broken, context), {broken, "line 2"});
  expect_refused(render(bytes, context), {bytes, "UTF-8"});
  expect_refused(render(good, list), {"a JSON object"});
  expect_refused(render(good, half), {half, "not valid JSON"});
  expect_refused(render("no.jinja", context), {"no.jinja"});
  expect_refused(render(good, "no.json"), {"no.json"});
  expect_refused(lathe({"template", good, "--context", context, "--now", "noon"}), {"noon"});
  expect_refused(lathe({"template", "--cases", context}), {context, "{template, context}"});
  expect_refused(lathe({"template", "--cases", list + "x"}), {list + "x"});
}

// The template of tiny/llama prints date_string.
TEST(ChatArguments, ReachTheTemplate) {
  const auto prompt_tokens = [](const std::string& date) -> int64_t {
    return json_output({"run", small_model(), "--chat", "a", "-n", "1", "--json", "--template-arg",
                        "date_string=" + date})["stats"]["prompt_tokens"];
  };
  EXPECT_GT(prompt_tokens("the second of December"), prompt_tokens("2. 12."));
}

TEST(ChatArguments, AFileTakesThePlaceOfTheTemplate) {
  const TestFolder folder;
  const std::string file = folder.write("short.jinja", "{{ messages[0].content }}").string();
  const auto stats = json_output(
      {"run", small_model(), "--chat", "a", "-n", "1", "--json", "--chat-template", file})["stats"];
  EXPECT_EQ(stats["prompt_tokens"], 2) << "BOS and one letter";
  expect_refused(lathe({"run", small_model(), "--chat", "a", "--chat-template", "none.jinja"}),
                 {"none.jinja"});
  const std::string raises = folder.write("raises.jinja", "{{ raise_exception('no') }}").string();
  expect_refused(lathe({"run", small_model(), "--chat", "a", "--chat-template", raises}),
                 {raises, "line 1", "no"});
}

TEST(ChatArguments, AreRefusedWhereTheyMakeNoSense) {
  const auto run = [](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"run", small_model(), "--chat", "a"};
    words.insert(words.end(), more.begin(), more.end());
    return lathe(words);
  };
  expect_refused(run({"--chat-template", "rag"}), {"no chat template of this name", "default"});
  expect_refused(run({"--template-arg", "messages=1"}), {"messages"});
  EXPECT_EQ(run({"--template-arg", "thinking"}).exit_code, 2);
  EXPECT_EQ(run({"--template-arg", "=1"}).exit_code, 2);
  EXPECT_EQ(lathe({"run", small_model(), "--prompt", "a", "--template-arg", "x=1"}).exit_code, 2);
}

}  // namespace
}  // namespace lathe
