// Every family as it is compiled, 16-bit activations, 8-bit weights and caches, against Hugging
// Face's float logits: prompt chunks over caches, windows shorter than the context.

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "api/golden.h"
#include "api/model_cases.h"
#include "eval/agreement.h"
#include "lathe/compile.h"
#include "lathe/language_model.h"
#include "support/test_files.h"

namespace lathe {
namespace {

using testing::Golden;
using testing::ModelCase;
using testing::of_prompt;

// Random weights have neither structure nor a clear next token: a trained model keeps far more.
constexpr double kLeastSqnrDb = 18.0;
constexpr double kLeastTop1 = 0.85;

class IntegerGolden : public ::testing::TestWithParam<ModelCase> {
 protected:
  /// Compiled on the first call with this context.
  LanguageModel& model(int64_t context) {
    std::unique_ptr<LanguageModel>& model = models_[context];
    if (model == nullptr) {
      const std::filesystem::path artifact = folder_ / (std::to_string(context) + ".lathe");
      compile(GetParam().source, artifact,
              {.context = context, .quant = "16a8w", .kv_bits = 8, .threads = 2});
      model = LanguageModel::open(artifact, {.threads = 2});
    }
    return *model;
  }

 private:
  const testing::TestFolder folder_;
  std::map<int64_t, std::unique_ptr<LanguageModel>> models_;
};

TEST_P(IntegerGolden, LogitsOfEveryPrompt) {
  const ModelCase& which = GetParam();
  const Golden golden(which.golden);
  AgreementMeter meter;
  for (int prompt = 0; prompt < which.prompts; ++prompt) {
    const std::vector<int64_t> ids = golden.ids(of_prompt(prompt, "input_ids"));
    const std::vector<float> expected = golden.floats(of_prompt(prompt, "logits"));
    LanguageModel& compiled = model(testing::context_of(ids.size()));
    compiled.runner().reset();
    const std::vector<float> logits = testing::prefill_logits(compiled.runner(), ids);
    ASSERT_EQ(logits.size(), expected.size());
    const auto vocab = static_cast<size_t>(compiled.vocab());
    for (size_t row = 0; row < expected.size(); row += vocab) {
      meter.add(std::span(expected).subspan(row, vocab), std::span(logits).subspan(row, vocab));
    }
  }
  const Agreement agreement = meter.result();
  EXPECT_GE(agreement.sqnr_db, kLeastSqnrDb);
  EXPECT_GE(agreement.top1_agreement, kLeastTop1);
  testing::report_figure("sqnr_db." + which.name, agreement.sqnr_db);
  testing::report_figure("top1." + which.name, agreement.top1_agreement);
}

INSTANTIATE_TEST_SUITE_P(, IntegerGolden, ::testing::ValuesIn(testing::tiny_models()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace lathe
