// A model as people download it: SmolLM2-135M-Instruct as a Q4_1 GGUF, which scripts/get-smollm2
// puts into models/. Golden values (tests/data/smollm2) by transformers 5.24 in float32, from the
// same weights rounded to bfloat16.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "api/float_model.h"
#include "api/golden.h"
#include "api/model_cases.h"
#include "eval/perplexity.h"
#include "lathe/compile.h"
#include "lathe/language_model.h"
#include "support/half.h"
#include "support/json.h"
#include "support/mapped_file.h"
#include "support/test_files.h"
#include "text/text_model.h"
#include "text/tokenizer_cases.h"

namespace lathe {
namespace {

using testing::Golden;

constexpr int kThreads = 2;

/// A checkpoint whose weights are rounded to bfloat16, as those were that the golden values come
/// from.
class RoundedCheckpoint final : public Checkpoint {
 public:
  explicit RoundedCheckpoint(std::shared_ptr<const Checkpoint> exact) : exact_(std::move(exact)) {}

  const ModelConfig& config() const override { return exact_->config(); }
  const GenerationConfig& generation() const override { return exact_->generation(); }
  const TextAssets& text() const override { return exact_->text(); }
  const std::vector<TensorInfo>& tensors() const override { return exact_->tensors(); }
  int find(std::string_view name) const override { return exact_->find(name); }
  void read_f32(int tensor, int64_t begin, int64_t count, float* out) const override {
    exact_->read_f32(tensor, begin, count, out);
    std::transform(out, out + count, out,
                   [](float weight) { return bf16_to_f32(f32_to_bf16(weight)); });
  }
  std::string fingerprint() const override { return exact_->fingerprint(); }
  const std::vector<std::string>& warnings() const override { return exact_->warnings(); }

 private:
  std::shared_ptr<const Checkpoint> exact_;
};

class SmolLm2 : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(std::filesystem::exists(gguf_))
        << gguf_.string() << " is missing: run scripts/get-smollm2, as `make test` does";
  }

  /// A float implementation's error of a logit: 2e-4 of their standard deviation (7 for this model)
  /// for each layer, which add up as random numbers do.
  double logit_error(const ModelConfig& config) const {
    const double deviation = json_.at("prompts").at(0).at("logit_std").get<double>();
    return 2e-4 * deviation * std::sqrt(static_cast<double>(config.layers));
  }

  std::vector<ChatMessage> chat_messages(size_t chat) const {
    std::vector<ChatMessage> messages;
    for (const auto& message : json_.at("chats").at(chat).at("messages")) {
      messages.push_back({message.at("role"), message.at("content")});
    }
    return messages;
  }

  const std::filesystem::path gguf_ =
      std::filesystem::path(LATHE_MODELS) / "SmolLM2-135M-Instruct.Q4_1.gguf";
  const std::filesystem::path data_ = testing::test_data() / "smollm2";
  const Golden golden_{data_ / "golden.safetensors"};
  const nlohmann::json json_ = parse_json(read_text_file(data_ / "golden.json"), "golden.json");
};

std::string of_chat(int chat, const std::string& tensor) {
  return "c" + std::to_string(chat) + "." + tensor;
}

TEST_F(SmolLm2, TokenizerOfTheGgufGivesTheGoldenCases) {
  const auto checkpoint = Checkpoint::open(gguf_);
  expect_cases_hold({Tokenizer::from_json(checkpoint->text().tokenizer_json, gguf_.string()),
                     parse_json(read_text_file(testing::test_data() / "tokenizers/smollm2.json"),
                                "smollm2.json")});
}

TEST_F(SmolLm2, ChatsAndTextHaveTheGoldenIds) {
  const TextAssets text = Checkpoint::open(gguf_)->text();
  const TextModel model = TextModel::open(text.tokenizer_json, text.tokenizer_config_json,
                                          text.chat_template, gguf_.string());
  for (int chat = 0; chat < 3; ++chat) {
    EXPECT_EQ(model.encode_chat(chat_messages(static_cast<size_t>(chat))),
              golden_.ids(of_chat(chat, "input_ids")));
  }
  EXPECT_EQ(model.encode_prompt(read_text_file(data_ / "ppl_pride_and_prejudice.txt")),
            golden_.ids("ppl.input_ids"));
}

// At every position the 64 largest logits and the logarithm of the sum of all exponentials.
TEST_F(SmolLm2, FloatLogits) {
  FloatModel model(std::make_shared<RoundedCheckpoint>(Checkpoint::open(gguf_)), kThreads);
  const double tolerance = logit_error(model.checkpoint().config());
  for (int prompt = 0; prompt < 2; ++prompt) {
    const auto name = [&](const std::string& tensor) { return testing::of_prompt(prompt, tensor); };
    const std::vector<int64_t> ids = golden_.ids(name("topk_ids"));  // [64, 64]
    std::vector<float> largest;
    std::vector<float> sums;
    model.run(golden_.ids(name("input_ids")), [&](int64_t position, std::span<const float> row) {
      for (size_t i = 0; i < 64; ++i) {
        const int64_t id = ids[static_cast<size_t>(position) * 64 + i];
        largest.push_back(row[static_cast<size_t>(id)]);
      }
      sums.push_back(static_cast<float>(log_sum_exp(row)));
    });
    const double difference = testing::max_difference(largest, golden_.floats(name("topk_values")));
    EXPECT_LE(difference, tolerance) << name("topk_values");
    EXPECT_LE(testing::max_difference(sums, golden_.floats(name("logsumexp"))), tolerance);
    testing::report_figure("largest_logit_difference_p" + std::to_string(prompt), difference);
  }
}

TEST_F(SmolLm2, FloatResidualStream) {
  FloatModel model(std::make_shared<RoundedCheckpoint>(Checkpoint::open(gguf_)), kThreads);
  std::vector<std::vector<float>> layers(30);  // the last value that a layer gives at its own level
  model.run(golden_.ids("p0.input_ids"), {}, [&](ValueId id, const TensorView& view) {
    const Node* node = model.graph().producer(id);
    if (node == nullptr || node->op != Op::add) return;
    for (size_t layer = 0; layer < layers.size(); ++layer) {
      if (node->module == "model.layers." + std::to_string(layer)) {
        layers[layer].assign(view.as<float>(), view.as<float>() + elements(view.shape));
      }
    }
  });
  for (const size_t layer : {0, 9, 19, 29}) {
    const std::vector<float> expected = golden_.floats("p0.layer." + std::to_string(layer));
    const double difference = testing::max_difference(layers[layer], expected);
    const double largest = testing::max_difference(expected, std::vector<float>(expected.size()));
    testing::report_figure("relative_difference_layer_" + std::to_string(layer),
                           difference / largest);
    EXPECT_LE(difference, 2e-4 * largest) << "layer " << layer;
  }
}

// One forward over prompt and golden answer shows every step of the greedy run at once.
TEST_F(SmolLm2, FloatGreedyText) {
  FloatModel model(std::make_shared<RoundedCheckpoint>(Checkpoint::open(gguf_)), kThreads);
  const double error = logit_error(model.checkpoint().config());
  for (int chat = 0; chat < 3; ++chat) {
    std::vector<int64_t> ids = golden_.ids(of_chat(chat, "input_ids"));
    const std::vector<int64_t> answer = golden_.ids(of_chat(chat, "greedy_ids"));
    const size_t prompt = ids.size();
    const size_t steps =
        testing::comparable_steps(golden_.floats(of_chat(chat, "greedy_margin")), error);
    EXPECT_EQ(steps, answer.size()) << "every margin of these answers is large enough";
    ids.insert(ids.end(), answer.begin(), answer.end() - 1);
    std::vector<int64_t> found;
    model.run(ids, [&](int64_t position, std::span<const float> row) {
      if (position + 1 >= static_cast<int64_t>(prompt)) found.push_back(testing::argmax(row));
    });
    found.resize(steps);
    EXPECT_EQ(found, std::vector<int64_t>(answer.begin(),
                                          answer.begin() + static_cast<std::ptrdiff_t>(steps)))
        << "chat " << chat;
  }
}

/// How many of the three chats begin with the 16 tokens of the float model.
int chats_begun_as_in_float(LanguageModel& model, const Golden& golden) {
  int equal = 0;
  for (int chat = 0; chat < 3; ++chat) {
    std::vector<int64_t> expected = golden.ids(of_chat(chat, "greedy_ids"));
    expected.resize(16);
    const std::vector<int64_t> prompt = golden.ids(of_chat(chat, "input_ids"));
    if (testing::greedy(model.runner(), prompt, 16) == expected) ++equal;
  }
  return equal;
}

// All that needs the artifact, which takes the better part of the time to make.
TEST_F(SmolLm2, IntegerModelKeepsAnswersAndPerplexity) {
  const testing::TestFolder folder;
  const std::filesystem::path artifact = folder / "smol.lathe";
  const CompileReport report = compile(gguf_, artifact, {.threads = kThreads});
  testing::report_figure("compile_peak_megabytes",
                         static_cast<double>(report.peak_rss_bytes) / 1e6);
  const auto model = LanguageModel::open(artifact, {.threads = kThreads});

  const int equal = chats_begun_as_in_float(*model, golden_);
  testing::report_figure("chats_with_equal_beginning", equal);
  EXPECT_GE(equal, 2);

  const std::vector<int64_t> question =
      model->encode_chat({{"user", "What is the capital of France?"}});
  const GenerateResult result = model->generate(question, {}, {.max_new_tokens = 32});
  EXPECT_NE(result.text.find("Paris"), std::string::npos) << result.text;
  EXPECT_EQ(result.finish_reason, FinishReason::stop);

  // The first window of the text, 1,024 tokens, stands for all eight to save time. It loses more
  // than the whole: 0.99 % where `lathe eval` over all 4,160 tokens measures 0.69 %.
  std::vector<int64_t> window = golden_.ids("ppl.input_ids");
  window.resize(1024);
  const double expected = json_.at("perplexity").at("perplexity_first_window").get<double>();
  const double found =
      perplexity(window, 1024, 512, [&](std::span<const int64_t> ids, const TakeLogits& take) {
        model->logits(ids, take);
      }).perplexity;
  testing::report_figure("perplexity", found);
  testing::report_figure("perplexity_change_percent", 100.0 * (found / expected - 1.0));
  EXPECT_NEAR(found / expected, 1.0, 0.012);
}

}  // namespace
}  // namespace lathe
