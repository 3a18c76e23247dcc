#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <sstream>

#include "cli/program.h"
#include "cli/small_model.h"
#include "support/safetensors.h"

// What each command prints and writes: the words and fields that scripts rely on.

namespace lathe {
namespace {

using nlohmann::ordered_json;
using testing::compile_arguments;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using testing::json_output;
using testing::kContext;
using testing::keys;
using testing::kVocab;
using testing::lathe;
using testing::lathe_output;
using testing::Outcome;
using testing::small_model;
using testing::small_source;
using testing::TestFolder;

const std::string kGolden = LATHE_TEST_DATA "/tiny/llama/golden.safetensors";

size_t line_count(const std::string& text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

std::string joined(const std::vector<int64_t>& ids) {
  std::ostringstream list;
  for (size_t i = 0; i < ids.size(); ++i) list << (i > 0 ? "," : "") << ids[i];
  return list.str();
}

template <typename Number>
std::vector<Number> numbers(const SafetensorsFile& file, const std::string& name) {
  const std::span<const std::byte> bytes = file.bytes(file.get(name));
  std::vector<Number> values(bytes.size() / sizeof(Number));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST(Compile, PrintsTheResultOnStdoutAndProgressOnStderr) {
  const TestFolder folder;
  const std::string output = (folder / "a model.lathe").string();
  const Outcome outcome = lathe(compile_arguments(small_source(), output));
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(line_count(outcome.out), 1);
  EXPECT_THAT(outcome.out, HasSubstr(output));
  EXPECT_THAT(outcome.out, HasSubstr("recipe default-16a8w"));
  EXPECT_EQ(outcome.err, "building graphs\ncalibrating\nquantizing\nwriting\n");
}

TEST(Compile, Json) {
  const TestFolder folder;
  const std::string output = (folder / "model.lathe").string();
  std::vector<std::string> arguments = compile_arguments(small_source(), output);
  arguments.push_back("--json");
  const ordered_json report = json_output(arguments);
  EXPECT_THAT(keys(report), ElementsAre("seconds", "peak_rss_bytes", "artifact_bytes",
                                        "bits_per_weight", "recipe"));
  EXPECT_EQ(report["artifact_bytes"], std::filesystem::file_size(output));
  EXPECT_EQ(report["recipe"], "default-16a8w");
}

TEST(Compile, ArtifactIsASafetensorsFile) {
  EXPECT_FALSE(SafetensorsFile::open(small_model()).entries().empty());
}

TEST(Compile, TheEmbeddedCheckpoint) {
  const TestFolder folder;
  const std::string output = (folder / "tiny.lathe").string();
  lathe_output(compile_arguments("tiny", output));
  const std::string text = lathe_output({"run", output, "--prompt", "It is a truth", "-n", "8"});
  EXPECT_THAT(text, ::testing::StartsWith("It is a truth"));
}

TEST(Run, PrintsTheTextOnStdoutAndStatisticsOnStderr) {
  const Outcome outcome = lathe({"run", small_model(), "--prompt", "It is", "-n", "5"});
  EXPECT_EQ(outcome.exit_code, 0);
  const ordered_json same =
      json_output({"run", small_model(), "--prompt", "It is", "-n", "5", "--json"});
  EXPECT_EQ(outcome.out, "It is" + same["text"].get<std::string>() + "\n");
  EXPECT_THAT(outcome.err, HasSubstr("5 tokens generated"));
}

TEST(Run, Json) {
  const ordered_json result =
      json_output({"run", small_model(), "--prompt", "It is", "-n", "5", "--json"});
  EXPECT_THAT(keys(result), ElementsAre("text", "ids", "finish_reason", "stats"));
  EXPECT_THAT(keys(result["stats"]),
              ElementsAre("load_ms", "prompt_tokens", "prompt_tokens_per_s", "generated_tokens",
                          "tokens_per_s", "ttft_ms", "peak_rss_bytes"));
  EXPECT_EQ(result["ids"].size(), 5);
  EXPECT_EQ(result["finish_reason"], "length");
  EXPECT_EQ(result["stats"]["generated_tokens"], 5);
}

TEST(Run, StopsBeforeEachStopText) {
  const std::vector<std::string> run{"run", small_model(), "--prompt", "It is",
                                     "-n",  "8",           "--json"};
  const std::string text = json_output(run)["text"];
  ASSERT_GE(text.size(), 6);
  // The last characters are plain letters in the text of this model; the other never occurs.
  const std::string stop = text.substr(text.size() - 2, 1);
  std::vector<std::string> stopped = run;
  stopped.insert(stopped.end(), {"--stop", "[never, ever]", "--stop", stop});
  const ordered_json result = json_output(stopped);
  EXPECT_EQ(result["text"], text.substr(0, text.find(stop)));
  EXPECT_EQ(result["finish_reason"], "stop");
}

TEST(Run, PromptIsTakenLiterally) {
  for (const char* prompt :
       {"-n", "--", "{}", "[a,b]", "\"quoted\"", "two\nlines", "\xF0\x9F\x99\x82"}) {
    SCOPED_TRACE(prompt);
    EXPECT_THAT(lathe_output({"run", small_model(), "--prompt", prompt, "-n", "1"}),
                ::testing::StartsWith(prompt));
  }
}

TEST(Run, ChatGoesThroughTheTemplate) {
  const ordered_json plain =
      json_output({"run", small_model(), "--chat", "Hello", "-n", "4", "--json"});
  const ordered_json with_system = json_output(
      {"run", small_model(), "--chat", "Hello", "--system", "Be brief.", "-n", "4", "--json"});
  EXPECT_GT(plain["stats"]["prompt_tokens"], 5);
  EXPECT_GT(with_system["stats"]["prompt_tokens"], 5);
  EXPECT_NE(plain["stats"]["prompt_tokens"], with_system["stats"]["prompt_tokens"]);
}

// Prompt and output together fill the context and no more.
TEST(Run, EndsWhereTheContextIsFull) {
  const ordered_json ids = json_output(
      {"tokenize", small_source(), "--text", std::string(80, '7'), "--special", "--json"});
  const auto prompt = static_cast<int>(ids["ids"].size());
  ASSERT_LT(prompt, kContext);
  const ordered_json result =
      json_output({"run", small_model(), "--prompt", std::string(80, '7'), "-n", "1000", "--json"});
  EXPECT_EQ(result["stats"]["prompt_tokens"], prompt);
  EXPECT_EQ(result["ids"].size(), static_cast<size_t>(kContext - prompt));
  EXPECT_EQ(result["finish_reason"], "length");

  // Digits of a token each, and the one that the tokenizer puts before them.
  const std::string nearly_full(kContext - 2, '7');
  const ordered_json one =
      json_output({"run", small_model(), "--prompt", nearly_full, "-n", "10", "--json"});
  EXPECT_EQ(one["stats"]["prompt_tokens"], kContext - 1);
  EXPECT_EQ(one["ids"].size(), 1);
  EXPECT_EQ(one["finish_reason"], "length");
}

TEST(Chat, AnswersEachLineAndStartsAnewWhenTold) {
  testing::Surroundings around;
  around.input = "Hi\nAgain\n/new\nHi\n";
  const Outcome outcome = lathe({"chat", small_model(), "-n", "2", "--seed", "3"}, around);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  const ordered_json first =
      json_output({"run", small_model(), "--chat", "Hi", "-n", "2", "--json"});
  const std::string answer = first["text"].get<std::string>() + "\n";
  EXPECT_THAT(outcome.out, ::testing::StartsWith(answer));
  EXPECT_THAT(outcome.out, ::testing::EndsWith(answer));
  EXPECT_GT(outcome.out.size(), 2 * answer.size());
}

// The golden logits are those of Hugging Face's own code: tests/data/tiny/llama/golden.safetensors.
TEST(Logits, OfACheckpointAreThoseOfHuggingFace) {
  const TestFolder folder;
  const SafetensorsFile golden = SafetensorsFile::open(kGolden);
  const std::string output = (folder / "logits.safetensors").string();
  const std::vector<int64_t> ids = numbers<int64_t>(golden, "p1.input_ids");
  EXPECT_EQ(lathe_output({"logits", small_source(), "--ids", joined(ids), "-o", output}), "");

  const SafetensorsFile file = SafetensorsFile::open(output);
  const SafetensorsEntry& entry = file.get("logits");
  EXPECT_EQ(entry.dtype, DType::f32);
  EXPECT_EQ(entry.shape, (Shape{static_cast<int64_t>(ids.size()), kVocab}));
  const std::vector<float> found = numbers<float>(file, "logits");
  const std::vector<float> expected = numbers<float>(golden, "p1.logits");
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 5e-4) << i;
}

TEST(Logits, OfAnArtifactAreOneRowAToken) {
  const TestFolder folder;
  const std::string output = (folder / "logits.safetensors").string();
  lathe_output({"logits", small_model(), "--ids", "378, 5, 6", "-o", output});
  const SafetensorsFile file = SafetensorsFile::open(output);
  EXPECT_EQ(file.get("logits").shape, (Shape{3, kVocab}));
  for (const float logit : numbers<float>(file, "logits")) ASSERT_TRUE(std::isfinite(logit));
}

TEST(Logits, IdsMayComeBeforeTheModel) {
  const TestFolder folder;
  const std::string output = (folder / "logits.safetensors").string();
  lathe_output({"logits", "--ids", "1,2", small_model(), "-o", output});
  EXPECT_EQ(SafetensorsFile::open(output).get("logits").shape, (Shape{2, kVocab}));
}

TEST(Eval, Json) {
  const TestFolder folder;
  const std::string text = folder.write("text.txt", std::string(300, 'x') + "The end.").string();
  EXPECT_THAT(keys(json_output({"eval", small_model(), "--text", text, "--json"})),
              ElementsAre("perplexity", "tokens"));
  const ordered_json report =
      json_output({"eval", small_model(), "--text", text, "--against", small_source(), "--json"});
  EXPECT_THAT(keys(report), ElementsAre("perplexity", "tokens", "sqnr_db", "kl_mean", "kl_p99",
                                        "top1_agreement"));
  EXPECT_GT(report["tokens"], kContext);
  EXPECT_GT(report["sqnr_db"], 10.0);
  EXPECT_GE(report["kl_p99"], report["kl_mean"]);
  EXPECT_LE(report["top1_agreement"], 1.0);
}

TEST(Eval, AModelAgainstItselfHasNoDifference) {
  const TestFolder folder;
  const std::string text = folder.write("text.txt", "It was the best of times.").string();
  const ordered_json report =
      json_output({"eval", small_model(), "--text", text, "--against", small_model(), "--json"});
  EXPECT_EQ(report["kl_mean"], 0.0);
  EXPECT_EQ(report["top1_agreement"], 1.0);
}

TEST(Eval, SaysInWordsWhichWindowsItUsed) {
  const TestFolder folder;
  const std::string text = folder.write("text.txt", "It was the best of times.").string();
  EXPECT_THAT(
      lathe_output({"eval", small_source(), "--text", text, "--context", "16", "--stride", "4"}),
      HasSubstr("(context 16, stride 4)"));
}

TEST(Bench, Json) {
  const ordered_json report = json_output({"bench", small_model(), small_model(), "-p", "8", "-n",
                                           "4", "-d", "2", "-r", "1", "--json"});
  EXPECT_THAT(keys(report), ElementsAre("results"));
  ASSERT_EQ(report["results"].size(), 2);
  for (const ordered_json& result : report["results"]) {
    EXPECT_THAT(keys(result), ElementsAre("model", "executor", "threads", "prompt", "depth",
                                          "prefill_tokens_per_s", "decode_tokens_per_s"));
    EXPECT_EQ(result["model"], small_model());
    EXPECT_EQ(result["executor"], "cpu");
    EXPECT_EQ(result["prompt"], 8);
    EXPECT_EQ(result["depth"], 2);
    for (const char* speed : {"prefill_tokens_per_s", "decode_tokens_per_s"}) {
      EXPECT_THAT(keys(result[speed]), ElementsAre("median", "min", "max"));
      EXPECT_GT(result[speed]["median"], 0.0);
    }
  }
}

TEST(Inspect, Json) {
  const ordered_json report = json_output({"inspect", small_model(), "--json"});
  EXPECT_THAT(keys(report), ElementsAre("io", "operators", "weight_bytes", "kv_bytes_in",
                                        "kv_bytes_out", "arena_bytes", "boundary_bytes",
                                        "activation_bytes", "kv_bytes_full_context"));
  EXPECT_THAT(keys(report["io"]), ElementsAre("inputs", "outputs"));
  std::vector<std::string> names;
  for (const ordered_json& tensor : report["io"]["inputs"]) names.push_back(tensor["name"]);
  EXPECT_THAT(names,
              IsSupersetOf({"tokens", "attention_mask", "position", "k_cache_0", "v_cache_2"}));
  EXPECT_EQ(report["io"]["outputs"][0]["name"], "logits");
  EXPECT_EQ(report["io"]["outputs"][0]["shape"], ordered_json({1, 1, kVocab}));
  EXPECT_EQ(report["operators"]["lathe.rms_norm"], 7);  // two in each of three layers, and the last
  // Three layers of keys and values, 2 heads of 16, a byte each: all slots but the new one.
  EXPECT_EQ(report["kv_bytes_in"], 3 * 2 * 2 * 16 * (kContext - 1));
  EXPECT_EQ(report["kv_bytes_full_context"], report["kv_bytes_in"]);  // no layer slides
  EXPECT_EQ(report["kv_bytes_out"], 3 * 2 * 2 * 16);
}

TEST(Inspect, PrintsAGraph) {
  EXPECT_THAT(lathe_output({"inspect", small_model(), "--graph", "decode"}),
              ::testing::StartsWith("graph decode ar=1 cl=128\n"));
  EXPECT_THAT(lathe_output({"inspect", small_model(), "--graph", "prefill"}),
              ::testing::StartsWith("graph prefill ar=16 cl=128\n"));
}

TEST(Inspect, PrintsAPlan) {
  const std::string text = lathe_output({"inspect", small_model(), "--plan"});
  EXPECT_THAT(text, ::testing::StartsWith("decode plan: 1 tokens per call"));
  EXPECT_THAT(text, HasSubstr("model.layers.*.{input_layernorm, self_attn.q_proj, "
                              "self_attn.k_proj, self_attn.v_proj}"));
  EXPECT_THAT(text, HasSubstr("all steps"));
  EXPECT_THAT(lathe_output({"inspect", small_model(), "--plan", "--graph", "prefill"}),
              ::testing::StartsWith("prefill plan: 16 tokens per call"));
}

TEST(Inspect, PlanAsJson) {
  const ordered_json plan = json_output({"inspect", small_model(), "--plan", "--json"});
  EXPECT_THAT(keys(plan), ElementsAre("graph", "steps", "weight_bytes", "cache_bytes",
                                      "activation_bytes", "multiply_adds", "arena_bytes"));
  EXPECT_EQ(plan["graph"], "decode");
  int64_t weight_bytes = 0;
  int attentions = 0;
  for (const ordered_json& step : plan["steps"]) {
    EXPECT_THAT(keys(step), ElementsAre("step", "modules", "weight_bytes", "cache_bytes",
                                        "activation_bytes", "multiply_adds"));
    weight_bytes += step["weight_bytes"].get<int64_t>();
    if (step["step"] == "attention") ++attentions;
  }
  EXPECT_EQ(attentions, 3);  // one a layer
  EXPECT_EQ(plan["weight_bytes"], weight_bytes);
  const ordered_json summary = json_output({"inspect", small_model(), "--json"});
  EXPECT_EQ(plan["weight_bytes"], summary["weight_bytes"]);
  EXPECT_EQ(plan["arena_bytes"], summary["arena_bytes"]);
}

TEST(Inspect, InWords) {
  const std::string text = lathe_output({"inspect", small_model()});
  EXPECT_THAT(text, HasSubstr("decode graph: 1 tokens per call, context 128"));
  EXPECT_THAT(text, HasSubstr("rms_norm"));
}

}  // namespace
}  // namespace lathe
