#include "text/text_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "support/error.h"
#include "support/mapped_file.h"

namespace lathe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ids = std::vector<int64_t>;

const std::filesystem::path kData = LATHE_TEST_DATA;

std::string tokenizer_json(const std::string& name) {
  return read_text_file(kData / "tiny" / name / "tokenizer.json");
}

TEST(TextModel, ReadsSpecialTokensWrittenAsTextOrAsObjects) {
  const TextModel model =
      TextModel::open(tokenizer_json("llama"),
                      R"({"bos_token": {"content": "<|begin_of_text|>", "special": true},
          "eos_token": "<|eot_id|>", "pad_token": null, "unk_token": 7,
          "additional_special_tokens": ["<|eom_id|>", {"content": "<|end_header_id|>"}]})",
                      "", "llama");
  EXPECT_EQ(model.special_tokens().dump(),
            R"({"bos_token":"<|begin_of_text|>","eos_token":"<|eot_id|>",)"
            R"("additional_special_tokens":["<|eom_id|>","<|end_header_id|>"]})");
}

TEST(TextModel, ARawPromptGetsWhatTheTokenizerAdds) {
  const TextModel plain = TextModel::open(tokenizer_json("llama"), "", "", "llama");
  EXPECT_TRUE(plain.adds_bos());
  EXPECT_THAT(plain.encode_prompt(""), ElementsAre(378));
  EXPECT_THAT(plain.encode_prompt("<|eot_id|>"), ElementsAre(378, 383));
}

// transformers 5 replaces the post-processor where tokenizer_config.json names one of the two.
TEST(TextModel, AddBosTokenOfTheConfigGoesBeforeTheTokenizer) {
  const auto prompt = [](const std::string& name, const char* config) {
    return TextModel::open(tokenizer_json(name), config, "", name).encode_prompt("");
  };
  EXPECT_THAT(prompt("llama", R"({"bos_token": "<|begin_of_text|>", "add_bos_token": false})"),
              ElementsAre());
  EXPECT_THAT(prompt("qwen2", R"({"bos_token": "<|endoftext|>", "add_bos_token": true})"),
              ElementsAre(381));
  EXPECT_THAT(prompt("qwen2", R"({"eos_token": "<|im_end|>", "add_eos_token": true})"),
              ElementsAre(383));
  EXPECT_THAT(prompt("qwen2", R"({"bos_token": null, "add_bos_token": true})"), ElementsAre());
}

TEST(TextModel, TakesTheTemplateOfItsOwnFileFirst) {
  const char* config = R"({"chat_template": "config"})";
  const std::vector<ChatMessage> none = {{"user", ""}};
  const auto ids = [&](const char* config_json, const char* own) {
    return TextModel::open(tokenizer_json("qwen2"), config_json, own, "qwen2").encode_chat(none);
  };
  const auto text = TextModel::open(tokenizer_json("qwen2"), "", "", "qwen2");
  EXPECT_EQ(ids(config, "own"), text.encode_prompt("own"));
  EXPECT_EQ(ids(config, ""), text.encode_prompt("config"));
  EXPECT_EQ(ids(R"({"chat_template": [{"name": "tool_use", "template": "t"},
                                      {"name": "default", "template": "d"}]})",
                ""),
            text.encode_prompt("d"));
}

TEST(TextModel, HasSeveralTemplatesByName) {
  const TextModel model = TextModel::open(
      tokenizer_json("qwen2"),
      R"({"chat_template": [{"name": "tool_use", "template": "t"}, {"name": "rag", "template": "r"},
                            {"name": "default", "template": "d"}]})",
      "", "qwen2");
  const std::vector<ChatMessage> hi = {{"user", ""}};
  const auto ids = [&](const ChatOptions& options) { return model.encode_chat(hi, options); };
  EXPECT_EQ(ids({.template_name = "rag"}), model.encode_prompt("r"));
  EXPECT_EQ(ids({.template_name = "default"}), model.encode_prompt("d"));
  // As transformers chooses where nobody says which.
  EXPECT_EQ(ids({.arguments = {{"tools", {{{"type", "function"}}}}}}), model.encode_prompt("t"));
  EXPECT_EQ(ids({.arguments = {{"tools", nullptr}}}), model.encode_prompt("d"));
  try {
    ids({.template_name = "none"});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "qwen2: the model has no chat template of this name: expected default, rag, "
                 "tool_use, chatml, gemma, question, found none");
  }
}

TEST(TextModel, AnyTemplateMayTakeThePlaceOfItsOwn) {
  const TextModel model = TextModel::open(tokenizer_json("qwen2"), "", "", "qwen2");
  EXPECT_EQ(model.encode_chat({{"user", ""}}, {.template_source = "mine"}),
            model.encode_prompt("mine"));
}

TEST(TextModel, TemplatesSeeTheModelsOwnSpecialTokens) {
  const TextModel model = TextModel::open(tokenizer_json("qwen2"),
                                          R"({"extra_special_tokens": {"boi_token": "<image>"}})",
                                          "{{ boi_token }}", "qwen2");
  EXPECT_EQ(model.encode_chat({{"user", ""}}), model.encode_prompt("<image>"));
}

TEST(TextModel, AChatWithoutATemplateIsAnErrorThatSaysSo) {
  const TextModel model = TextModel::open(tokenizer_json("qwen2"), "", "", "tiny/qwen2");
  EXPECT_FALSE(model.has_chat_template());
  try {
    model.encode_chat({{"user", "x"}});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "tiny/qwen2: the model has no chat template; use a raw prompt, or choose a "
                 "template: a .jinja file or one of chatml, gemma, question");
  }
}

TEST(TextModel, AModelWithoutATemplateTakesABuiltInOneByName) {
  const TextModel model = TextModel::open(tokenizer_json("qwen2"), "", "", "qwen2");
  const std::vector<ChatMessage> messages{
      {"system", "s"}, {"user", "u"}, {"assistant", "a"}, {"user", "v"}};
  const auto rendered = [&](const char* name) {
    return model.tokenizer()->decode(model.encode_chat(messages, {.template_name = name}), false);
  };
  EXPECT_EQ(rendered("chatml"),
            "<|im_start|>system\ns<|im_end|>\n<|im_start|>user\nu<|im_end|>\n"
            "<|im_start|>assistant\na<|im_end|>\n<|im_start|>user\nv<|im_end|>\n"
            "<|im_start|>assistant\n");
  EXPECT_EQ(rendered("gemma"),
            "<start_of_turn>user\ns\n\nu<end_of_turn>\n<start_of_turn>model\na<end_of_turn>\n"
            "<start_of_turn>user\nv<end_of_turn>\n<start_of_turn>model\n");
  EXPECT_EQ(rendered("question"), "s\n\nQ: u\nA: a\nQ: v\nA:");
}

TEST(TextModel, AConfigThatIsNoObjectIsRefused) {
  for (const char* config : {"[]", "{", "3", "\xFF"}) {
    EXPECT_THROW(TextModel::open(tokenizer_json("qwen2"), config, "", "m"), Error) << config;
  }
}

TEST(TextModel, ASyntaxErrorInTheTemplateIsFoundOnOpening) {
  try {
    TextModel::open(tokenizer_json("qwen2"), "", "{% for %}", "m");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::StartsWith("m: chat template: line 1: "));
  }
}

}  // namespace
}  // namespace lathe
