// `lathe compile --report` on a checkpoint with one channel far above all others.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <string>

#include "api/model_cases.h"
#include "lathe/compile.h"
#include "support/safetensors.h"
#include "support/test_files.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::TestFolder;

/// tests/data/tiny/llama with row 7 of layer 1's up_proj a thousand times as large: that channel of
/// what its down_proj reads is.
void write_model_with_outlier(const fs::path& folder) {
  const fs::path source = testing::tiny_llama().source;
  fs::copy(source, folder);
  std::string bytes = testing::read_bytes(source / "model.safetensors");
  const SafetensorsFile file = SafetensorsFile::open(source / "model.safetensors");
  const SafetensorsEntry& up = file.get("model.layers.1.mlp.up_proj.weight");
  ASSERT_EQ(up.type, "F32");
  const auto width = static_cast<size_t>(up.shape[1]);
  for (size_t i = 7 * width; i < 8 * width; ++i) {
    float weight = 0.0f;
    std::memcpy(&weight, bytes.data() + up.begin + i * sizeof(float), sizeof(float));
    weight *= 1000.0f;
    std::memcpy(bytes.data() + up.begin + i * sizeof(float), &weight, sizeof(float));
  }
  std::ofstream(folder / "model.safetensors", std::ios::binary) << bytes;
}

std::string report_of(const fs::path& source, const fs::path& artifact, CompileOptions options) {
  std::string text;
  options.context = 64;
  options.prefill = 8;
  options.report = [&](std::string_view report) { text = report; };
  compile(source, artifact, options);
  return text;
}

class AccuracyReport : public ::testing::Test {
 protected:
  AccuracyReport() { write_model_with_outlier(model_); }

  const TestFolder folder_;
  const fs::path model_ = folder_ / "model";
  const fs::path text_ = folder_.write("text.txt", "如何制作一份煎牛排");
};

TEST_F(AccuracyReport, NamesTheDownProjectionBehindALargeChannelAndProposesEightBits) {
  const std::string report = report_of(model_, folder_ / "model.lathe",
                                       {.quant = "16a4w", .calibration = text_, .threads = 1});
  // The first line behind the heading: the worst.
  EXPECT_THAT(report, HasSubstr("dB\n  model.layers.1.mlp.down_proj: i4 per channel"));
  EXPECT_THAT(report, HasSubstr(R"("module":"^model\\.layers\\.1\\.mlp\\.down_proj$")"));
}

TEST_F(AccuracyReport, ItsRuleGivesThatWeightEightBits) {
  const fs::path recipe = folder_.write("mine.json", R"({
    "name": "mine", "dtype": "16a4w", "kv_bits": 8, "rules": [
      {"match":{"op":"linear","module":"^model\\.layers\\.1\\.mlp\\.down_proj$"},
       "dtype":"16a8w","granularity":"channel"}]})");
  const std::string report =
      report_of(model_, folder_ / "model.lathe",
                {.recipe = recipe.string(), .calibration = text_, .threads = 1});
  EXPECT_THAT(report, HasSubstr("  model.layers.1.mlp.down_proj: i8 per channel"));
  EXPECT_THAT(report, Not(HasSubstr(R"("module":"^model\\.layers\\.1\\.mlp\\.down_proj$")")));
}

}  // namespace
}  // namespace lathe
