#include <gtest/gtest.h>

#include <functional>

#include "checkpoint/gguf_builder.h"
#include "cli/checkpoint_folder.h"
#include "cli/program.h"
#include "cli/small_model.h"
#include "support/safetensors_bytes.h"

// Checkpoints that are damaged, incomplete or of another kind: `lathe compile` says what is wrong
// with which file, and leaves what was at its output alone.

namespace lathe {
namespace {

using testing::CheckpointFolder;
using testing::compile_arguments;
using testing::contents;
using testing::expect_refused;
using testing::lathe;
using testing::safetensors_bytes;
using testing::small_source;
using testing::TestFolder;

const std::string kWeights = "model.safetensors";
const std::string kPrevious = "an artifact of last week";

/// Compiles over a file that is there: it stays, alone and unchanged.
void expect_compile_refused(const std::string& source, const std::vector<std::string>& words,
                            const std::vector<std::string>& options = {}) {
  const TestFolder folder;
  std::vector<std::string> arguments{"compile", source, "-o",
                                     folder.write("model.lathe", kPrevious).string()};
  arguments.insert(arguments.end(), options.begin(), options.end());
  const testing::Outcome outcome = lathe(arguments);
  expect_refused(outcome, words);
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1)
      << "found only after work had started: " << outcome.err;
  EXPECT_EQ(contents(folder.path()),
            (std::map<std::string, std::string>{{"model.lathe", kPrevious}}));
}

/// The same for a copy of a good checkpoint that `damage` was done to.
void expect_damage_refused(const std::function<void(const CheckpointFolder&)>& damage,
                           const std::vector<std::string>& words) {
  const CheckpointFolder folder;
  damage(folder);
  expect_compile_refused(folder.path(), words);
}

void expect_weights_refused(const std::string& bytes, const std::vector<std::string>& words) {
  std::vector<std::string> all{kWeights};
  all.insert(all.end(), words.begin(), words.end());
  expect_damage_refused([&](const CheckpointFolder& folder) { folder.write(kWeights, bytes); },
                        all);
}

TEST(BadCheckpoint, IsNotThere) {
  expect_compile_refused("no/such/model", {"no/such/model", "no such file or folder"});
}

TEST(BadCheckpoint, IsAFileOfAnotherKind) {
  const TestFolder folder;
  expect_compile_refused(folder.write("notes.txt", "hello").string(), {"notes.txt"});
  expect_compile_refused(folder.write("empty.gguf", "").string(), {"empty.gguf"});
  expect_compile_refused(folder.write("short.gguf", "GGUF\3").string(), {"short.gguf"});
  expect_compile_refused(folder.write("wrong.gguf", "GGML this is not it").string(),
                         {"wrong.gguf"});
  expect_compile_refused(small_source() + "/" + kWeights, {kWeights, "config.json"});
}

TEST(BadCheckpoint, HasNoConfig) {
  expect_damage_refused([](const auto& folder) { folder.remove("config.json"); }, {"config.json"});
}

TEST(BadCheckpoint, HasAConfigThatIsNotJson) {
  for (const char* bytes : {"", "{", "[]", "{\"model_type\": \"llama\"", "\xff\xfe"}) {
    SCOPED_TRACE(bytes);
    expect_damage_refused([&](const auto& folder) { folder.write("config.json", bytes); },
                          {"config.json"});
  }
}

TEST(BadCheckpoint, IsOfAnUnknownFamily) {
  expect_damage_refused(
      [](const auto& folder) { folder.set("config.json", "model_type", "abacus"); },
      {"config.json", "model_type", "llama", "abacus"});
}

TEST(BadCheckpoint, HasAnImpossibleConfig) {
  const auto refuse = [](const char* key, const nlohmann::json& value,
                         const std::string& found = {}) {
    SCOPED_TRACE(key);
    expect_damage_refused([&](const auto& folder) { folder.set("config.json", key, value); },
                          {"config.json", key, found});
  };
  refuse("hidden_size", 0);
  refuse("hidden_size", "64");
  refuse("num_hidden_layers", -1);
  refuse("num_key_value_heads", 3);
  refuse("vocab_size", 1e300);
  refuse("rope_scaling", {{"rope_type", "spiral"}, {"factor", 2.0}}, "spiral");
  refuse("hidden_act", "relu2", "relu2");
}

TEST(BadCheckpoint, HasAConfigThatItsTensorsContradict) {
  const auto refuse = [](const char* key, int value, const std::vector<std::string>& words) {
    SCOPED_TRACE(key);
    std::vector<std::string> all{kWeights};
    all.insert(all.end(), words.begin(), words.end());
    expect_damage_refused([&](const auto& folder) { folder.set("config.json", key, value); }, all);
  };
  refuse("intermediate_size", 168, {"model.layers.0.mlp.", "168", "160"});
  refuse("vocab_size", 385, {"model.embed_tokens.weight", "385", "384"});
  refuse("num_key_value_heads", 4,
         {"model.layers.0.self_attn.k_proj.weight", "[64, 64]", "[32, 64]"});
  refuse("num_hidden_layers", 40, {"model.layers.", "missing"});
}

TEST(BadCheckpoint, LacksItsHead) {
  expect_damage_refused(
      [](const auto& folder) { folder.set("config.json", "tie_word_embeddings", false); },
      {kWeights, "lm_head.weight"});
}

TEST(BadCheckpoint, HasNoWeights) {
  expect_damage_refused([](const auto& folder) { folder.remove(kWeights); },
                        {"model.safetensors.index.json"});
}

TEST(BadCheckpoint, HasItsWeightsInAPickle) {
  expect_damage_refused([](const auto& folder) { folder.rename(kWeights, "pytorch_model.bin"); },
                        {"pytorch_model.bin", kWeights});
}

TEST(BadCheckpoint, LacksAShard) {
  expect_damage_refused(
      [](const auto& folder) {
        folder.rename(kWeights, "model-00001-of-00002.safetensors");
        folder.write("model.safetensors.index.json", R"({"weight_map": {
            "model.embed_tokens.weight": "model-00001-of-00002.safetensors",
            "model.norm.weight": "model-00002-of-00002.safetensors"}})");
      },
      {"model-00002-of-00002.safetensors", "model.norm.weight"});
}

TEST(BadCheckpoint, HasAnIndexThatReachesOutOfItsFolder) {
  expect_damage_refused(
      [](const auto& folder) {
        folder.remove(kWeights);
        folder.write("model.safetensors.index.json",
                     R"({"weight_map": {"model.norm.weight": "../../etc/passwd"}})");
      },
      {"model.safetensors.index.json", "../../etc/passwd"});
}

TEST(BadCheckpoint, IsTruncated) {
  const size_t whole = std::filesystem::file_size(small_source() + "/" + kWeights);
  for (const size_t size : {size_t{0}, size_t{7}, size_t{8}, size_t{100}, whole / 2, whole - 1}) {
    SCOPED_TRACE(size);
    expect_damage_refused([&](const auto& folder) { folder.truncate(kWeights, size); }, {kWeights});
  }
}

TEST(BadCheckpoint, IsAGitLfsPointer) {
  expect_weights_refused(
      "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 619184\n",
      {"Git LFS pointer"});
}

TEST(BadCheckpoint, HasAMalformedSafetensorsHeader) {
  const std::string four(4, '\0');
  const std::string twelve(12, '\0');
  // A million elements in four bytes.
  expect_weights_refused(
      safetensors_bytes(R"({"t":{"dtype":"F32","shape":[1000,1000],"data_offsets":[0,4]}})", four),
      {"t"});
  // A length of the header that wraps around.
  expect_weights_refused("\xff\xff\xff\xff\xff\xff\xff\xff{}", {});
  // No tensors: a valid file, but no model.
  expect_weights_refused(safetensors_bytes(R"({"__metadata__":{"format":"pt"}})", ""),
                         {"model.embed_tokens.weight"});
  // Two tensors that share bytes.
  expect_weights_refused(
      safetensors_bytes(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                        R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
                        twelve),
      {"b"});
  // A type that does not exist.
  expect_weights_refused(
      safetensors_bytes(R"({"odd":{"dtype":"F7","shape":[1],"data_offsets":[0,4]}})", four),
      {"odd", "F7"});
  // A number of elements over 2^64.
  expect_weights_refused(
      safetensors_bytes(R"({"huge":{"dtype":"F32","shape":[4294967296,4294967296,2],)"
                        R"("data_offsets":[0,4]}})",
                        four),
      {"huge"});
}

TEST(BadCheckpoint, IsAGgufThatLies) {
  const auto refuse = [](const std::string& bytes, const std::vector<std::string>& words) {
    const TestFolder folder;
    std::vector<std::string> all{"lies.gguf"};
    all.insert(all.end(), words.begin(), words.end());
    expect_compile_refused(folder.write("lies.gguf", bytes).string(), all);
  };
  const auto tensor_of_type = [](uint32_t type) {
    return testing::GgufBuilder()
        .string("general.architecture", "llama")
        .tensor("token_embd.weight", {2, 32}, type, std::string(256, 'x'));
  };
  refuse(tensor_of_type(77).bytes(), {"token_embd.weight", "type 77"});
  refuse(tensor_of_type(0).bytes(2, 1), {});
  refuse(tensor_of_type(0).bytes(~uint64_t{0}, 1), {"ends early"});
  refuse(tensor_of_type(0).bytes(1, ~uint64_t{0}), {"ends early"});
  refuse(testing::GgufBuilder().add("general.architecture", 13, "").bytes(),
         {"general.architecture", "13"});
}

TEST(BadCheckpoint, LacksItsTokenizer) {
  expect_damage_refused([](const auto& folder) { folder.remove("tokenizer.json"); },
                        {"tokenizer.json"});
  expect_damage_refused([](const auto& folder) { folder.write("tokenizer.json", "{}"); },
                        {"tokenizer.json"});
}

TEST(BadCheckpoint, HasATokenizerWithAnUnknownPart) {
  expect_damage_refused(
      [](const auto& folder) {
        folder.set("tokenizer.json", "pre_tokenizer", {{"type", "Novel"}});
      },
      {"tokenizer.json", "pre_tokenizer", "Novel"});
}

TEST(BadCheckpoint, HasAChatTemplateThatIsNone) {
  const auto refuse = [](const std::string& source, const std::vector<std::string>& words) {
    SCOPED_TRACE(source);
    const CheckpointFolder folder;
    folder.write("chat_template.jinja", source);
    std::vector<std::string> all{folder.path(), "chat template"};
    all.insert(all.end(), words.begin(), words.end());
    expect_compile_refused(folder.path(), all);
  };
  refuse("{% for %}", {"line 1"});
  refuse("\n{{ raise_exception('only one turn') }}", {"line 2", "only one turn"});
  std::string endless;
  for (int i = 0; i < 6; ++i) endless += "{% for i in range(1000) %}";
  for (int i = 0; i < 6; ++i) endless += "{% endfor %}";
  refuse(endless, {"steps"});
}

TEST(BadCompileOption, ContextAndPrefillThatDoNotFit) {
  expect_compile_refused("tiny", {"--context", "512", "513"}, {"--context", "513"});
  expect_compile_refused(small_source(), {"--prefill", "97", "96"},
                         {"--context", "96", "--prefill", "97"});
}

TEST(BadCompileOption, Recipe) {
  const TestFolder folder;
  const auto refuse = [](const std::string& recipe, const std::vector<std::string>& words) {
    SCOPED_TRACE(recipe);
    expect_compile_refused(small_source(), words, {"--recipe", recipe});
  };
  refuse("nonsense", {"unknown recipe", "default-16a8w", "nonsense"});
  refuse("no/such.json", {"no/such.json"});
  refuse(folder.write("half.json", "{\"name\":").string(), {"half.json", "not valid JSON"});
  refuse(folder.write("list.json", "[]").string(), {"list.json", "an object"});
  refuse(folder.write("empty.json", "{}").string(), {"empty.json"});
  const std::string good = testing::read_bytes(LATHE_RECIPES "/default-16a8w.json");
  auto recipe = nlohmann::json::parse(good);
  recipe["wheight"] = 8;
  refuse(folder.write("unknown.json", recipe.dump()).string(), {"unknown.json", "wheight"});
}

TEST(BadCompileOption, Calibration) {
  const TestFolder folder;
  const auto refuse = [](const std::string& file, const std::vector<std::string>& words) {
    SCOPED_TRACE(file);
    expect_compile_refused(small_source(), words, {"--calibration", file});
  };
  refuse("no/such.txt", {"no/such.txt"});
  refuse(folder.path().string(), {folder.path().string()});
  refuse(folder.write("empty.txt", "").string(), {"empty.txt", "empty"});
  refuse(folder.write("blank.jsonl", "\n \n").string(), {"blank.jsonl", "empty"});
  refuse(folder.write("bytes.txt", "ab\xff").string(), {"bytes.txt", "UTF-8", "byte 2"});
  refuse(folder.write("data.csv", "a,b").string(), {"data.csv", ".txt", ".jsonl"});
  const std::string good = R"([{"role": "user", "content": "Hi"}])";
  refuse(folder.write("half.jsonl", good + "\n[{\"role\"").string(), {"half.jsonl: line 2"});
  refuse(folder.write("role.jsonl", R"([{"role": "cat", "content": "x"}])").string(),
         {"role.jsonl: line 1", "cat"});
  refuse(folder.write("field.jsonl", good + "\n\n" + R"([{"role": "user"}])").string(),
         {"field.jsonl: line 3", "content"});
}

TEST(BadCompileOption, ChatsWithoutATemplateToPutThemIn) {
  const CheckpointFolder folder;
  folder.erase("tokenizer_config.json", "chat_template");
  folder.write("chats.jsonl", R"([{"role": "user", "content": "Hi"}])");
  expect_compile_refused(folder.path(), {"chats.jsonl", "chat template"},
                         {"--calibration", folder.file("chats.jsonl").string()});
}

TEST(BadCompileOption, OutputThatCannotBeWritten) {
  const TestFolder folder;
  expect_refused(lathe(compile_arguments(small_source(), (folder / "no/model.lathe").string())),
                 {"no", "does not exist"});
  expect_refused(lathe(compile_arguments(small_source(), folder.path().string())),
                 {folder.path().string(), "a folder"});
  EXPECT_TRUE(contents(folder.path()).empty());
}

}  // namespace
}  // namespace lathe
