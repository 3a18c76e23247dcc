#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint.h"
#include "checkpoint/expected_tensors.h"
#include "support/expect_error.h"
#include "support/safetensors.h"
#include "support/safetensors_bytes.h"
#include "support/test_files.h"

namespace lathe {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using testing::expect_error;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::safetensors_bytes;
using testing::TestFolder;

/// A tensor of a test file: type, shape, bytes.
struct Data {
  std::string type;
  Shape shape;
  std::string bytes;
};
using Tensors = std::map<std::string, Data>;

std::string file_of(const Tensors& tensors) {
  json header = json::object();
  std::string data;
  for (const auto& [name, tensor] : tensors) {
    const size_t begin = data.size();
    data += tensor.bytes;
    header[name] = {
        {"dtype", tensor.type}, {"shape", tensor.shape}, {"data_offsets", {begin, data.size()}}};
  }
  return safetensors_bytes(header.dump(), data);
}

/// A folder with a one-layer Llama whose weights are all zero, to be changed before open().
struct Folder {
  Folder() {
    config = {{"model_type", "llama"},    {"vocab_size", 10},           {"hidden_size", 8},
              {"intermediate_size", 12},  {"num_hidden_layers", 1},     {"num_attention_heads", 2},
              {"num_key_value_heads", 1}, {"tie_word_embeddings", true}};
    for (const TensorInfo& tensor : expected_tensors(parse_model_config(config, "config.json"))) {
      add(tensor.name, tensor.shape);
    }
  }

  void add(const std::string& name, const Shape& shape, char fill = 0) {
    tensors[name] = {"BF16", shape, std::string(static_cast<size_t>(elements(shape)) * 2, fill)};
  }
  void write_config() { folder.write("config.json", config.dump()); }
  void write() {
    write_config();
    folder.write("model.safetensors", file_of(tensors));
  }
  std::shared_ptr<const Checkpoint> open() {
    write();
    return Checkpoint::open(folder.path());
  }
  void expect_refused(const std::vector<std::string>& parts) {
    expect_error([&] { Checkpoint::open(folder.path()); }, parts);
  }

  TestFolder folder;
  json config;
  Tensors tensors;
};

std::vector<float> values_of(const Checkpoint& checkpoint, std::string_view name) {
  const int tensor = checkpoint.find(name);
  EXPECT_GE(tensor, 0) << name;
  const int64_t count = elements(checkpoint.tensors()[static_cast<size_t>(tensor)].shape);
  std::vector<float> values(static_cast<size_t>(count));
  checkpoint.read_f32(tensor, 0, count, values.data());
  return values;
}

TEST(HfFolder, OpensTheEmbeddedModel) {
  const auto tiny = Checkpoint::open(LATHE_MODELS "/tiny");
  EXPECT_EQ(tiny->config().layers, 4);
  EXPECT_EQ(tiny->config().head_dim, 32);
  EXPECT_TRUE(tiny->config().tie_word_embeddings);
  EXPECT_EQ(tiny->tensors().size(), 2u + 4u * 9u);
  EXPECT_THAT(tiny->generation().eos_ids, ElementsAre(0));
  EXPECT_EQ(tiny->generation().bos_id, 0);
  EXPECT_THAT(tiny->warnings(), IsEmpty());
  EXPECT_FALSE(tiny->text().tokenizer_json.empty());
  EXPECT_EQ(tiny->text().chat_template, "");
  int64_t parameters = 0;
  for (const TensorInfo& tensor : tiny->tensors()) parameters += elements(tensor.shape);
  EXPECT_EQ(parameters, 984192);
}

// Facts of tests/data/tiny/llama: config in the layout of transformers 4, llama3 rope scaling.
TEST(HfFolder, OpensALlama3StyleModel) {
  const auto llama = Checkpoint::open(LATHE_TEST_DATA "/tiny/llama");
  EXPECT_EQ(llama->config().rope.kind, RopeConfig::Kind::llama3);
  EXPECT_EQ(llama->config().rope.original_max_position_embeddings, 64);
  EXPECT_THAT(llama->generation().eos_ids, ElementsAre(379, 382, 383));
  EXPECT_EQ(llama->generation().bos_id, 378);
  EXPECT_THAT(llama->text().chat_template, HasSubstr("<|start_header_id|>"));
}

TEST(HfFolder, ReadsTheValuesOfTheFile) {
  const auto llama = Checkpoint::open(LATHE_TEST_DATA "/tiny/llama");
  const auto golden = SafetensorsFile::open(LATHE_TEST_DATA "/tiny/llama/golden.safetensors");
  // The input of layer 0 is the embedding row of each token.
  const auto ids = golden.bytes(golden.get("p0.input_ids"));
  const auto embed = golden.bytes(golden.get("p0.embed"));
  const int tensor = llama->find("model.embed_tokens.weight");
  for (size_t token = 0; token < ids.size() / sizeof(int64_t); ++token) {
    int64_t id;
    std::memcpy(&id, ids.data() + token * sizeof id, sizeof id);
    std::vector<float> row(64);
    llama->read_f32(tensor, id * 64, 64, row.data());
    EXPECT_EQ(
        std::memcmp(row.data(), embed.data() + token * 64 * sizeof(float), 64 * sizeof(float)), 0);
  }
}

TEST(HfFolder, WidensEveryFloatTypeExactlyAtAnyAlignment) {
  Folder folder;
  const auto set = [&](const std::string& type, const std::string& value) {
    std::string bytes;
    for (int i = 0; i < 8; ++i) bytes += value;
    folder.tensors["model.norm.weight"] = {type, {8}, bytes};
  };
  // One odd byte in front, so that nothing after it is aligned.
  folder.tensors["a.first"] = {"U8", {1}, "x"};
  set("BF16", {"\x01\x00", 2});  // the smallest subnormal of bfloat16
  EXPECT_EQ(values_of(*folder.open(), "model.norm.weight"), std::vector<float>(8, 0x1p-133f));
  set("BF16", "\x7F\x7F");  // beyond the range of float16
  EXPECT_EQ(values_of(*folder.open(), "model.norm.weight"), std::vector<float>(8, 0x1.FEp127f));
  set("F16", {"\x01\x00", 2});
  EXPECT_EQ(values_of(*folder.open(), "model.norm.weight"), std::vector<float>(8, 0x1p-24f));
  set("F32", {"\x00\x00\x20\xC0", 4});
  EXPECT_EQ(values_of(*folder.open(), "model.norm.weight"), std::vector<float>(8, -2.5f));
}

TEST(HfFolder, ListsExactlyTheTensorsOfTheConfig) {
  Folder folder;
  folder.add("model.layers.0.self_attn.rotary_emb.inv_freq", {2});
  folder.tensors["some.counter"] = {"I64", {1}, std::string(8, '\0')};
  const auto checkpoint = folder.open();
  EXPECT_EQ(checkpoint->tensors().size(), 11u);
  EXPECT_EQ(checkpoint->find("some.counter"), -1);
  EXPECT_EQ(checkpoint->find("model.norm.weight"), 10);
}

TEST(HfFolder, BiasesAreThereWhenTheConfigSaysSo) {
  Folder folder;
  folder.config["attention_bias"] = true;
  folder.config["mlp_bias"] = true;
  for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"}) {
    const int64_t size = name[0] == 'k' || name[0] == 'v' ? 4 : 8;
    folder.add(std::string("model.layers.0.self_attn.") + name + ".bias", {size});
  }
  folder.add("model.layers.0.mlp.gate_proj.bias", {12});
  folder.add("model.layers.0.mlp.up_proj.bias", {12});
  folder.write();
  folder.expect_refused({"model.layers.0.mlp.down_proj.bias", "missing"});
  folder.add("model.layers.0.mlp.down_proj.bias", {8});
  EXPECT_EQ(folder.open()->tensors().size(), 18u);
}

TEST(HfFolder, FindsTheTextModelInsideAModelThatAlsoSees) {
  Folder folder;
  const json text = {
      {"vocab_size", 10},       {"hidden_size", 8},         {"intermediate_size", 12},
      {"num_hidden_layers", 1}, {"num_attention_heads", 2}, {"num_key_value_heads", 1},
      {"head_dim", 4}};
  folder.config = {{"model_type", "gemma3"}, {"text_config", text}};
  const auto expected = expected_tensors(parse_model_config(folder.config, "config.json"));
  for (const std::string prefix : {"language_model.model.", "model.language_model."}) {
    folder.tensors.clear();
    folder.add("vision_tower.weight", {2});
    for (const TensorInfo& tensor : expected) {
      folder.add(prefix + tensor.name.substr(std::string("model.").size()), tensor.shape);
    }
    EXPECT_EQ(folder.open()->tensors().size(), expected.size()) << prefix;
  }
}

// Qwen2's modeling code has biases of q, k and v that no field of its config mentions.
TEST(HfFolder, Qwen2NeedsTheBiasesOfItsProjections) {
  Folder folder;
  folder.config["model_type"] = "qwen2";
  folder.write();
  folder.expect_refused({"model.layers.0.self_attn.k_proj.bias", "3 in all"});
  folder.add("model.layers.0.self_attn.q_proj.bias", {8});
  folder.add("model.layers.0.self_attn.k_proj.bias", {4});
  folder.add("model.layers.0.self_attn.v_proj.bias", {4});
  EXPECT_EQ(folder.open()->tensors().size(), 14u);
}

TEST(HfFolder, WarnsAboutWeightsThatTheConfigDoesNotMention) {
  Folder folder;
  folder.folder.write("tokenizer.json", "{}");
  folder.add("model.layers.0.self_attn.q_proj.bias", {8});
  folder.add("model.layers.1.mlp.up_proj.weight", {12, 8});
  EXPECT_THAT(folder.open()->warnings(),
              ElementsAre(::testing::AllOf(
                  HasSubstr("model.layers.0.self_attn.q_proj.bias: the model type llama does not"),
                  HasSubstr("2 in all"))));
}

TEST(HfFolder, NamesTheTensorThatTheConfigContradicts) {
  Folder folder;
  folder.config["head_dim"] = 6;
  folder.write();
  folder.expect_refused(
      {"model.layers.0.self_attn.k_proj.weight", "expected [6, 8]", "found [4, 8]"});
  folder.config["model_type"] = "phi3";
  folder.config.erase("head_dim");
  folder.write();
  folder.expect_refused({"model.layers.0.mlp.gate_up_proj.weight", "missing"});
}

// Tied embeddings: what the config says against what the file has.
TEST(HfFolder, TiedWithoutAHeadSharesTheEmbedding) {
  Folder folder;
  const auto checkpoint = folder.open();
  EXPECT_EQ(checkpoint->find("lm_head.weight"), -1);
  EXPECT_TRUE(checkpoint->config().tie_word_embeddings);
}

TEST(HfFolder, TiedWithTheSameHeadIsFine) {
  Folder folder;
  folder.add("lm_head.weight", {10, 8});
  folder.folder.write("tokenizer.json", "{}");
  EXPECT_THAT(folder.open()->warnings(), IsEmpty());
}

TEST(HfFolder, TiedWithAnotherHeadWarnsAndUsesTheEmbedding) {
  Folder folder;
  folder.add("lm_head.weight", {10, 8}, '\x3F');
  folder.folder.write("tokenizer.json", "{}");
  const auto checkpoint = folder.open();
  EXPECT_EQ(checkpoint->find("lm_head.weight"), -1);
  EXPECT_THAT(checkpoint->warnings(),
              ElementsAre(::testing::AllOf(HasSubstr("lm_head.weight"), HasSubstr("tie"))));
}

TEST(HfFolder, UntiedNeedsItsHead) {
  Folder folder;
  folder.config["tie_word_embeddings"] = false;
  folder.write();
  folder.expect_refused({"model.safetensors: lm_head.weight", "missing", "tie_word_embeddings"});
  folder.add("lm_head.weight", {10, 8});
  EXPECT_GE(folder.open()->find("lm_head.weight"), 0);
}

TEST(HfFolder, NamesTensorsThatAreMissingOrMisshapen) {
  Folder folder;
  folder.add("model.layers.0.mlp.up_proj.weight", {8, 12});
  folder.write();
  folder.expect_refused({"model.layers.0.mlp.up_proj.weight", "expected [12, 8]", "found [8, 12]"});
  folder.tensors.erase("model.layers.0.mlp.up_proj.weight");
  folder.tensors.erase("model.norm.weight");
  folder.write();
  folder.expect_refused({"model.layers.0.mlp.up_proj.weight", "2 in all"});
}

TEST(HfFolder, RefusesWeightsOfATypeThatIsNotFloat) {
  Folder folder;
  folder.tensors["model.norm.weight"] = {"F8_E4M3", {8}, std::string(8, 'x')};
  folder.write();
  folder.expect_refused({"model.norm.weight", "F32, F16 or BF16", "F8_E4M3"});
  folder.tensors["model.norm.weight"] = {"I64", {8}, std::string(64, 'x')};
  folder.write();
  folder.expect_refused({"model.norm.weight", "I64"});
}

/// The tensors in two files with an index.
void write_shards(const Folder& folder) {
  Tensors first = folder.tensors;
  Tensors second;
  second.insert(first.extract("model.norm.weight"));
  second.insert(first.extract("model.layers.0.mlp.up_proj.weight"));
  folder.folder.write("model-00001-of-00002.safetensors", file_of(first));
  folder.folder.write("model-00002-of-00002.safetensors", file_of(second));
  json map;
  for (const auto& item : first) map[item.first] = "model-00001-of-00002.safetensors";
  for (const auto& item : second) map[item.first] = "model-00002-of-00002.safetensors";
  folder.folder.write("model.safetensors.index.json",
                      json{{"metadata", {{"total_size", 1}}}, {"weight_map", map}}.dump());
}

TEST(HfFolder, ShardsGiveTheSameModelAsOneFile) {
  Folder folder;
  const std::string one_file = folder.open()->fingerprint();
  std::filesystem::remove(folder.folder / "model.safetensors");
  write_shards(folder);
  const auto sharded = Checkpoint::open(folder.folder.path());
  EXPECT_EQ(sharded->tensors().size(), 11u);
  EXPECT_EQ(sharded->fingerprint(), one_file);
}

TEST(HfFolder, NamesAMissingShardAndWhatWasInIt) {
  Folder folder;
  folder.write_config();
  write_shards(folder);
  std::filesystem::remove(folder.folder / "model-00002-of-00002.safetensors");
  folder.expect_refused({"model-00002-of-00002.safetensors", "shard", "is missing",
                         "model.layers.0.mlp.up_proj.weight and 1 more"});
}

TEST(HfFolder, RefusesAnIndexThatDoesNotFitItsShards) {
  Folder folder;
  folder.write_config();
  write_shards(folder);
  folder.folder.write("model-00002-of-00002.safetensors", file_of({}));
  folder.expect_refused({"model-00002-of-00002.safetensors: model.layers.0.mlp.up_proj.weight",
                         "the index places there"});
  const auto index = [&](const json& value) {
    folder.folder.write("model.safetensors.index.json", value.dump());
  };
  index({{"weight_map", {{"a", "../model.safetensors"}}}});
  folder.expect_refused({"index.json", "same folder", "../model.safetensors"});
  index({{"weight_map", {{"a", 1}}}});
  folder.expect_refused({"weight_map: a", "a string"});
  index({{"weight_map", 7}});
  folder.expect_refused({"weight_map", "an object"});
  index(json::object());
  folder.expect_refused({"weight_map", "missing"});
}

TEST(HfFolder, SaysWhatIsNotACheckpoint) {
  Folder folder;
  expect_error([&] { Checkpoint::open(folder.folder / "none"); }, {"none", "no such file"});
  folder.expect_refused({"not a Hugging Face checkpoint folder", "config.json"});
  folder.write_config();
  folder.expect_refused({"no weights", "model.safetensors"});
  folder.folder.write("pytorch_model.bin", "PK");
  folder.expect_refused({"pytorch_model.bin", "can run any code", "save_pretrained"});
  folder.folder.write("model.safetensors", "version https://git-lfs.github.com/spec/v1\noid x\n");
  folder.expect_refused({"model.safetensors", "Git LFS pointer"});
  expect_error([&] { Checkpoint::open(folder.folder / "model.safetensors"); },
               {"model.safetensors", "the folder that holds this file"});
  folder.folder.write("config.json", "{");
  folder.expect_refused({"config.json", "not valid JSON"});
}

// What ends a text: config, generation_config and the tokenizer united.
TEST(HfFolder, UnitesTheEndsOfText) {
  Folder folder;
  folder.config["eos_token_id"] = 1;
  folder.folder.write("generation_config.json",
                      R"({"eos_token_id": [1, 8, 9], "bos_token_id": 5})");
  folder.folder.write("tokenizer_config.json", R"({"eos_token": {"content": "<end>"}})");
  folder.folder.write(
      "tokenizer.json",
      R"({"added_tokens": [{"id": 3, "content": "<end>"}], "model": {"vocab": {}}})");
  const auto checkpoint = folder.open();
  EXPECT_THAT(checkpoint->generation().eos_ids, ElementsAre(1, 3, 8, 9));
  EXPECT_EQ(checkpoint->generation().bos_id, 5);
}

TEST(HfFolder, FindsTheEndTokenWhereverItsIdIs) {
  Folder folder;
  folder.folder.write("tokenizer_config.json", R"({"eos_token": "</s>"})");
  folder.folder.write("tokenizer.json", R"({"model": {"vocab": {"</s>": 4}}})");
  EXPECT_THAT(folder.open()->generation().eos_ids, ElementsAre(4));
  folder.folder.write(
      "tokenizer_config.json",
      R"({"eos_token": "</s>", "added_tokens_decoder": {"6": {"content": "</s>"}}})");
  EXPECT_THAT(folder.open()->generation().eos_ids, ElementsAre(6));
  folder.folder.write("tokenizer_config.json", R"({"eos_token": "<other>"})");
  EXPECT_THAT(folder.open()->generation().eos_ids, IsEmpty());
}

TEST(HfFolder, AnEndOutsideOfTheVocabularyIsAWarningAndAWrongTypeAnError) {
  Folder folder;
  folder.folder.write("tokenizer.json", "{}");
  folder.config["eos_token_id"] = {2, 99};
  const auto checkpoint = folder.open();
  EXPECT_THAT(checkpoint->generation().eos_ids, ElementsAre(2));
  EXPECT_THAT(checkpoint->warnings(), ElementsAre(HasSubstr("99")));
  folder.config["eos_token_id"] = "two";
  folder.write();
  folder.expect_refused({"config.json: eos_token_id", "a token id or a list"});
}

TEST(HfFolder, SpecialTokensOfOldFoldersAreFilledIn) {
  Folder folder;
  folder.folder.write("tokenizer_config.json", R"({"eos_token": "<a>", "bos_token": null})");
  folder.folder.write("special_tokens_map.json", R"({"eos_token": "<b>", "bos_token": "<c>"})");
  const json config = json::parse(folder.open()->text().tokenizer_config_json);
  EXPECT_EQ(config["eos_token"], "<a>");
  EXPECT_EQ(config["bos_token"], "<c>");
}

TEST(HfFolder, TheChatTemplateComesFromTheFirstPlaceThatHasOne) {
  Folder folder;
  EXPECT_EQ(folder.open()->text().chat_template, "");
  folder.folder.write("chat_template.json", R"({"chat_template": "third"})");
  EXPECT_EQ(folder.open()->text().chat_template, "third");
  folder.folder.write("tokenizer_config.json", R"({"chat_template": "second"})");
  EXPECT_EQ(folder.open()->text().chat_template, "second");
  folder.folder.write("tokenizer_config.json",
                      R"({"chat_template": [{"name": "tool_use", "template": "x"},)"
                      R"({"name": "default", "template": "y"}]})");
  EXPECT_EQ(folder.open()->text().chat_template, "y");
  folder.folder.write("chat_template.jinja", "first\n");
  EXPECT_EQ(folder.open()->text().chat_template, "first\n");
  folder.folder.write("tokenizer_config.json", R"({"chat_template": 5})");
  std::filesystem::remove(folder.folder / "chat_template.jinja");
  folder.expect_refused({"chat_template", "a string"});
}

/// The names and sources in the list that tokenizer_config.json carries.
std::map<std::string, std::string> named_templates(const TextAssets& text) {
  std::map<std::string, std::string> out;
  const json config = json::parse(text.tokenizer_config_json);
  for (const json& item : config.at("chat_template")) {
    out[item["name"]] = item["template"];
  }
  return out;
}

TEST(HfFolder, SeveralChatTemplatesAreAllKept) {
  using ::testing::Pair;
  using ::testing::UnorderedElementsAre;
  Folder folder;
  folder.folder.write("tokenizer_config.json",
                      R"({"chat_template": [{"name": "tool_use", "template": "x"},)"
                      R"({"name": "default", "template": "y"}]})");
  EXPECT_THAT(named_templates(folder.open()->text()),
              UnorderedElementsAre(Pair("default", "y"), Pair("tool_use", "x")));

  folder.folder.write("chat_template.jinja", "plain");
  std::filesystem::create_directory(folder.folder / "additional_chat_templates");
  folder.folder.write("additional_chat_templates/rag.jinja", "rag");
  folder.folder.write("additional_chat_templates/notes.txt", "no template");
  const TextAssets text = folder.open()->text();
  EXPECT_EQ(text.chat_template, "plain");
  EXPECT_THAT(named_templates(text),
              UnorderedElementsAre(Pair("default", "plain"), Pair("rag", "rag")));
}

TEST(HfFolder, ASentencePieceModelServesWhereThereIsNoTokenizerJson) {
  Folder folder;
  std::filesystem::copy(LATHE_TEST_DATA "/sentencepiece/bpe.model",
                        folder.folder / "tokenizer.model");
  const TextAssets plain = folder.open()->text();
  const json tokenizer = json::parse(plain.tokenizer_json);
  EXPECT_EQ(tokenizer["model"]["type"], "BPE");
  EXPECT_EQ(tokenizer["post_processor"]["single"][0]["SpecialToken"]["id"], "<s>");
  EXPECT_EQ(json::parse(plain.tokenizer_config_json)["eos_token"], "</s>");

  folder.folder.write("added_tokens.json", R"({"<|user|>": 520, "<|end|>": 521})");
  const json more = json::parse(folder.open()->text().tokenizer_json)["added_tokens"];
  EXPECT_EQ(more.back()["content"], "<|end|>");
  EXPECT_EQ(more.back()["special"], true);

  folder.folder.write("tokenizer_config.json",
                      R"({"legacy": false, "added_tokens_decoder":
                         {"520": {"content": "<x>", "rstrip": true, "special": false}}})");
  const json own = json::parse(folder.open()->text().tokenizer_json);
  EXPECT_EQ(own["added_tokens"].back()["content"], "<x>");
  EXPECT_EQ(own["added_tokens"].back()["rstrip"], true);
  EXPECT_EQ(own["pre_tokenizer"]["prepend_scheme"], "first");
}

TEST(HfFolder, AddedTokensThatDoNotFitTheirModelAreRefused) {
  Folder folder;
  std::filesystem::copy(LATHE_TEST_DATA "/sentencepiece/bpe.model",
                        folder.folder / "tokenizer.model");
  folder.write();
  folder.folder.write("added_tokens.json", R"({"<a>": 522})");
  folder.expect_refused({"added_tokens.json", "expected id 520", "\"<a>\" with id 522"});
  folder.folder.write("added_tokens.json", R"({"<a>": 2})");
  folder.expect_refused({"expected \"</s>\"", "\"<a>\" with id 2"});
  folder.folder.write("added_tokens.json", R"({"<a>": "2"})");
  folder.expect_refused({"added_tokens.json: <a>"});
  folder.folder.write("tokenizer_config.json", R"({"added_tokens_decoder": {"x": {}}})");
  folder.expect_refused({"tokenizer_config.json: added_tokens_decoder"});
  folder.folder.write("tokenizer.model", "version https://git-lfs.github.com/spec/v1\n");
  folder.expect_refused({"tokenizer.model", "Git LFS pointer"});
}

TEST(HfFolder, WithoutATokenizerThereIsAWarning) {
  Folder folder;
  EXPECT_THAT(folder.open()->warnings(), ElementsAre(HasSubstr("tokenizer.json")));
  folder.folder.write("tokenizer.json", "version https://git-lfs.github.com/spec/v1\n");
  folder.expect_refused({"tokenizer.json", "Git LFS pointer"});
}

TEST(HfFolder, TheFingerprintFollowsWeightsAndConfig) {
  Folder folder;
  const std::string before = folder.open()->fingerprint();
  EXPECT_EQ(before.size(), 32u);
  EXPECT_EQ(folder.open()->fingerprint(), before);
  folder.tensors["model.norm.weight"].bytes[3] = 1;
  const std::string changed = folder.open()->fingerprint();
  EXPECT_NE(changed, before);
  folder.config["rms_norm_eps"] = 1e-5;
  EXPECT_NE(folder.open()->fingerprint(), changed);
}

}  // namespace
}  // namespace lathe
