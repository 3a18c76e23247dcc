// What quantization costs the embedded checkpoint, and that compiling is deterministic.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/embedded_checkpoint.h"
#include "api/float_model.h"
#include "api/golden.h"
#include "eval/perplexity.h"
#include "lathe/compile.h"
#include "lathe/language_model.h"
#include "support/json.h"
#include "support/mapped_file.h"
#include "support/test_files.h"
#include "text/text_model.h"

namespace lathe {
namespace {

/// Golden perplexity of a text that the checkpoint was not trained on
/// (tests/data/embedded/golden.json, transformers in float32): 74.885 over windows of 512 tokens.
class EmbeddedPerplexity : public ::testing::Test {
 protected:
  double expected() const { return golden_.at("perplexity").get<double>(); }

  double measure(const Tokenizer& tokenizer, const RunSequence& run) const {
    const std::string text =
        read_text_file(testing::test_data() / "embedded" / "ppl_northanger_abbey.txt");
    const std::vector<int64_t> ids = tokenizer.encode(text, /*add_special=*/false);
    EXPECT_EQ(static_cast<int64_t>(ids.size()), golden_.at("tokens").get<int64_t>());
    return perplexity(ids, golden_.at("context").get<int64_t>(),
                      golden_.at("stride").get<int64_t>(), run)
        .perplexity;
  }

 private:
  const nlohmann::json golden_ =
      parse_json(read_text_file(testing::test_data() / "embedded" / "golden.json"), "golden.json");
};

TEST_F(EmbeddedPerplexity, OfTheFloatGraphIsTheGoldenOne) {
  const auto checkpoint = open_source("tiny");
  const auto tokenizer = Tokenizer::from_json(checkpoint->text().tokenizer_json, "tiny");
  FloatModel model(checkpoint, 2);
  const double found = measure(*tokenizer, [&](std::span<const int64_t> ids,
                                               const TakeLogits& take) { model.run(ids, take); });
  testing::report_figure("perplexity", found);
  EXPECT_NEAR(found / expected(), 1.0, 1e-4);
}

TEST_F(EmbeddedPerplexity, OfTheIntegerGraphIsWithinOnePercent) {
  const testing::TestFolder folder;
  compile("tiny", folder / "tiny.lathe");
  const auto model = LanguageModel::open(folder / "tiny.lathe");
  const double found = measure(
      *model->tokenizer(),
      [&](std::span<const int64_t> ids, const TakeLogits& take) { model->logits(ids, take); });
  testing::report_figure("perplexity", found);
  testing::report_figure("perplexity_change_percent", 100.0 * (found / expected() - 1.0));
  EXPECT_NEAR(found / expected(), 1.0, 0.01);
}

TEST(Compile, GivesTheSameBytesWithAnyNumberOfThreads) {
  const testing::TestFolder folder;
  compile("tiny", folder / "one.lathe", {.threads = 1});
  compile("tiny", folder / "two.lathe", {.threads = 2});
  EXPECT_TRUE(testing::read_bytes(folder / "one.lathe") ==
              testing::read_bytes(folder / "two.lathe"));
}

}  // namespace
}  // namespace lathe
