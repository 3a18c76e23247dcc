#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "lathe/compile.h"
#include "lathe/language_model.h"
#include "support/error.h"
#include "support/test_files.h"
#include "tools/random_weights.h"

namespace lathe {
namespace {

using testing::model_shape;
using testing::read_bytes;
using testing::TestFolder;
using testing::write_random_checkpoint;

std::vector<float> tensor(const Checkpoint& checkpoint, const std::string& name) {
  const int index = checkpoint.find(name);
  const int64_t count = elements(checkpoint.tensors()[static_cast<size_t>(index)].shape);
  std::vector<float> values(static_cast<size_t>(count));
  checkpoint.read_f32(index, 0, count, values.data());
  return values;
}

struct Moments {
  double mean = 0.0;
  double deviation = 0.0;
};

Moments moments(const std::vector<float>& values) {
  Moments out;
  for (const float value : values) out.mean += value / static_cast<double>(values.size());
  for (const float value : values) {
    out.deviation += (value - out.mean) * (value - out.mean) / static_cast<double>(values.size());
  }
  out.deviation = std::sqrt(out.deviation);
  return out;
}

TEST(RandomCheckpoint, TheProgramWritesAFolderThatOpensCompilesAndRuns) {
  const TestFolder folder;
  const std::filesystem::path source = folder / "model";
  const std::string command = std::string(RANDOM_CHECKPOINT) +
                              " --like smallest --layers 2 --mlp-bias true " + source.string();
  ASSERT_EQ(std::system(command.c_str()), 0);
  const auto checkpoint = Checkpoint::open(source);
  EXPECT_EQ(checkpoint->config().layers, 2);
  EXPECT_TRUE(checkpoint->config().mlp_bias);
  EXPECT_THAT(checkpoint->warnings(), ::testing::IsEmpty());

  const std::filesystem::path artifact = folder / "model.lathe";
  compile(source, artifact, {.context = 64, .calibration_tokens = 64});
  const auto model = LanguageModel::open(artifact);
  const std::vector<int64_t> ids{1, 2, 3};
  int64_t rows = 0;
  model->logits(ids, [&](int64_t, std::span<const float>) { ++rows; });
  EXPECT_EQ(rows, 3);
}

TEST(RandomCheckpoint, WeightsAreSpreadAsInATrainedModel) {
  const TestFolder folder;
  write_random_checkpoint(folder.path(), model_shape("smallest"), 0);
  const auto checkpoint = Checkpoint::open(folder.path());
  const Moments matrix = moments(tensor(*checkpoint, "model.embed_tokens.weight"));
  EXPECT_NEAR(matrix.mean, 0.0, 5e-4);
  EXPECT_NEAR(matrix.deviation, 0.02, 5e-4);
  const Moments norm = moments(tensor(*checkpoint, "model.norm.weight"));
  EXPECT_NEAR(norm.mean, 1.0, 0.03);
  EXPECT_NEAR(norm.deviation, 0.05, 0.03);
}

TEST(RandomCheckpoint, OneSeedGivesOneFile) {
  const auto written = [](uint64_t seed) {
    const TestFolder folder;
    write_random_checkpoint(folder.path(), model_shape("smallest"), seed);
    return read_bytes(folder / "model.safetensors");
  };
  const std::string first = written(1);
  EXPECT_EQ(written(1), first);
  EXPECT_NE(written(2), first);
}

TEST(RandomCheckpoint, TensorsOfOneShapeDiffer) {
  const TestFolder folder;
  write_random_checkpoint(folder.path(), model_shape("smallest"), 0);
  const auto checkpoint = Checkpoint::open(folder.path());
  EXPECT_NE(tensor(*checkpoint, "model.layers.0.mlp.up_proj.weight"),
            tensor(*checkpoint, "model.layers.0.mlp.gate_proj.weight"));
}

// hidden 2048, 32 heads of 64, 8 of them for keys and values, 16 layers, MLP 8192, 128,256 words.
TEST(RandomCheckpoint, KnowsTheShapeOfLlama32) {
  const ModelConfig config = parse_model_config(model_shape("llama3_2-1b"), "config.json");
  EXPECT_EQ(config.heads * config.head_dim, 2048);
  EXPECT_EQ(config.kv_heads, 8);
  EXPECT_EQ(config.layers, 16);
  EXPECT_EQ(config.vocab_size, 128256);
  EXPECT_EQ(config.rope.kind, RopeConfig::Kind::llama3);
}

TEST(RandomCheckpoint, RefusesAShapeThatNoModelHas) {
  const TestFolder folder;
  nlohmann::json config = model_shape("smallest");
  config["num_key_value_heads"] = 3;
  EXPECT_THROW(write_random_checkpoint(folder.path(), config, 0), Error);
}

}  // namespace
}  // namespace lathe
