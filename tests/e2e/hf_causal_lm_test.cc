// A Hugging Face checkpoint through all rooms, once for each variant: compiled, opened, written
// with.

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "api/embedded_checkpoint.h"
#include "api/float_model.h"
#include "api/golden.h"
#include "api/model_cases.h"
#include "artifact/read.h"
#include "graph/operators.h"
#include "lathe/compile.h"
#include "lathe/language_model.h"
#include "support/test_files.h"

namespace lathe {
namespace {

using testing::Golden;
using testing::ModelCase;

constexpr int64_t kContext = 128;
constexpr size_t kTokens = 12;

struct Compiled {
  testing::TestFolder folder;
  std::filesystem::path artifact = folder / "model.lathe";
};

std::vector<int64_t> written(const std::filesystem::path& artifact, const ModelCase& model,
                             const OpenOptions& options) {
  const std::vector<int64_t> prompt = Golden(model.golden).ids("p0.input_ids");
  return testing::greedy(LanguageModel::open(artifact, options)->runner(), prompt, kTokens);
}

/// Compiles a variant of both small models, lets the fast and the scalar executor write, whole
/// prompts at a time and token by token, and gives what they all wrote.
std::map<std::string, std::vector<int64_t>> run_variant(const std::string& variant,
                                                        const std::string& target = "cpu",
                                                        const std::string& recipe = "auto") {
  std::map<std::string, std::vector<int64_t>> texts;
  for (const ModelCase& model : {testing::embedded_model(), testing::tiny_llama()}) {
    const Compiled compiled;
    compile(model.source, compiled.artifact,
            {.context = kContext,
             .variant = variant,
             .target = target,
             .recipe = recipe,
             .threads = 2});
    const std::vector<int64_t> text = written(compiled.artifact, model, {.threads = 2});
    EXPECT_EQ(written(compiled.artifact, model, {.executor = ExecutorKind::reference}), text)
        << model.name;
    EXPECT_EQ(written(compiled.artifact, model, {.mode = RunMode::kv, .threads = 1}), text)
        << model.name;
    texts[model.name] = text;
  }
  return texts;
}

TEST(hf_causal_lm, hf_mainline) { run_variant("hf_mainline"); }

TEST(hf_causal_lm, hf_WritesWhatTheHandBuiltGraphWrites) {
  EXPECT_EQ(run_variant("hf"), run_variant("static"));
}

TEST(hf_causal_lm, hf_ForAnNpuWritesWhatTheHandBuiltGraphWrites) {
  EXPECT_EQ(run_variant("hf", "htp"), run_variant("static", "htp"));
}

TEST(hf_causal_lm, hf_WithAMaskedSoftmaxAndValuesMadeOf8Bits) {
  const testing::TestFolder folder;
  const std::string recipe = (folder / "mine.json").string();
  std::ofstream(recipe) << R"({
    "name": "mine", "dtype": "16a8w", "kv_bits": 8, "masked_softmax": true, "rules": [
      {"match": {"module": "v_proj$"}, "dtype": "8a8w", "symmetric": true}]})";
  EXPECT_EQ(run_variant("hf", "cpu", recipe), run_variant("static", "cpu", recipe));
}

// --- what hf_mainline is made of

/// "aten.add" -> how often torch.export recorded it.
std::map<std::string, int> recorded_operators() {
  std::ifstream file(testing::test_data() / "hf_export/llama.eager.tsv");
  std::map<std::string, int> counts;
  std::string line;
  std::getline(file, line);  // the column names
  while (std::getline(file, line)) {
    const std::string op = line.substr(line.find('\t') + 1);
    const std::string name = op.substr(0, op.find('\t'));
    ++counts[name.substr(0, name.rfind('.'))];
  }
  return counts;
}

TEST(hf_causal_lm, hf_mainline_HasTheOperatorsOfTheRecording) {
  FloatForm form{Variant::hf_mainline};
  const Graph graph =
      float_graph(open_source(testing::tiny_llama().source), {GraphRole::decode, 1, 64}, form);
  std::map<std::string, int> counts;
  for (const NodeId id : graph.order()) ++counts[std::string(rule_of(graph.node(id).op).name)];

  // Nothing else is missing than what computes nothing:
  std::map<std::string, int> expected = recorded_operators();
  expected.erase("aten.alias");    // the same value under another name
  expected.erase("aten.dropout");  // not in training
  expected.erase("aten.copy_");    // sets a counter that is read as what was copied
  expected.erase("aten.add_");     // moves that counter on, for the next call
  expected["aten.to"] = 1;         // 21 of 22 keep the type; positions become float once
  expected["aten.mul"] -= 2;       // by the attention scaling of RoPE, 1.0
  expected["aten.expand"] -= 1;    // of the mask to the shape it has
  expected["aten.arange"] -= 2;    // ranges that nothing reads
  EXPECT_EQ(counts, expected);
}

TEST(hf_causal_lm, hf_mainline_MovesWholeCachesOf16Bits) {
  const Compiled compiled;
  compile("tiny", compiled.artifact, {.context = kContext, .variant = "hf_mainline"});
  const IoContract io = read_model(compiled.artifact).graph(GraphRole::decode).io();
  const IoTensor* in = io.find_input("static_cache.layers.0.keys");
  const IoTensor* out = io.find_output("layers.0.keys");
  ASSERT_NE(in, nullptr);
  ASSERT_NE(out, nullptr);
  EXPECT_EQ(in->shape, (Shape{1, 2, kContext, 32}));
  EXPECT_EQ(in->dtype, DType::u16);
  EXPECT_EQ(out->shape, in->shape);
  EXPECT_EQ(out->encoding, in->encoding);
}

}  // namespace
}  // namespace lathe
