#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "api/model_cases.h"
#include "artifact/read.h"
#include "graph/diff.h"
#include "lathe/compile.h"
#include "support/test_files.h"
#include "tools/random_weights.h"

// The graph that the passes make of Hugging Face's is the graph that was built by hand: every node,
// every attribute, every encoding and every weight.

namespace lathe {
namespace {

using ::testing::HasSubstr;
using testing::TestFolder;

struct Case {
  std::string name;
  std::string source;
  std::function<void(CompileOptions&)> choose;
};

void PrintTo(const Case& given, std::ostream* out) { *out << given.name; }

class GraphIdentity : public ::testing::TestWithParam<Case> {
 protected:
  Model compiled(const std::string& source, CompileOptions options) const {
    options.context = 64;
    options.calibration_tokens = 64;
    const std::filesystem::path path = folder_ / (options.variant + ".lathe");
    compile(source, path, options);
    return read_model(path, WeightCheck::sizes);
  }

  void expect_hf_is_static(const std::string& source, CompileOptions options) const {
    options.variant = "hf";
    const Model hf = compiled(source, options);
    options.variant = "static";
    const Model by_hand = compiled(source, options);
    for (const GraphRole role : {GraphRole::decode, GraphRole::prefill}) {
      const GraphDiff found = diff(hf.graph(role), by_hand.graph(role));
      const GraphDifference difference = found.difference.value_or(GraphDifference{});
      EXPECT_EQ(found.relation, GraphRelation::isomorphic)
          << name_of(role) << ": " << difference.what << "\n"
          << difference.first << "\n"
          << difference.second;
    }
  }

  TestFolder folder_;
};

TEST_P(GraphIdentity, HfIsStatic) {
  CompileOptions options;
  GetParam().choose(options);
  expect_hf_is_static(GetParam().source, options);
}

INSTANTIATE_TEST_SUITE_P(
    Llama, GraphIdentity,
    ::testing::Values(
        Case{"as_the_recipe_says", "tiny", [](CompileOptions&) {}},
        Case{"r3", "tiny", [](CompileOptions& options) { options.r3 = true; }},
        Case{"per_head_attention", "tiny", [](CompileOptions& options) { options.target = "htp"; }},
        Case{"r3_and_per_head_attention", "tiny",
             [](CompileOptions& options) {
               options.r3 = true;
               options.target = "htp";
             }},
        Case{"caches_of_16_bits", "tiny", [](CompileOptions& options) { options.kv_bits = 16; }},
        Case{"weights_of_4_bits_in_blocks", "tiny",
             [](CompileOptions& options) {
               options.quant = "16a4w_block";
               options.block = 32;
             }}),
    [](const auto& info) { return info.param.name; });

class GraphIdentityOfFamilies : public GraphIdentity {};

TEST_P(GraphIdentityOfFamilies, HfIsStatic) { expect_hf_is_static(GetParam().source, {}); }

std::vector<Case> every_family() {
  std::vector<Case> cases;
  for (const testing::ModelCase& model : testing::all_models()) {
    cases.push_back({model.name, model.source.string(), {}});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(, GraphIdentityOfFamilies, ::testing::ValuesIn(every_family()),
                         [](const auto& info) { return info.param.name; });

/// A recipe with what the built-in ones leave alone.
class MaskedSoftmaxAnd8BitValues : public GraphIdentity {
 protected:
  MaskedSoftmaxAnd8BitValues() {
    std::ofstream(recipe_) << R"({
      "name": "mine", "dtype": "16a8w", "kv_bits": 8, "masked_softmax": true, "rules": [
        {"match": {"module": "v_proj$"}, "dtype": "8a4w", "symmetric": true},
        {"match": {"module": "down_proj$"}, "dtype": "16a8w", "symmetric": true}]})";
  }

  const std::string recipe_ = (folder_ / "mine.json").string();
};

TEST_F(MaskedSoftmaxAnd8BitValues, HfIsStatic) {
  for (const char* target : {"cpu", "htp"}) {
    SCOPED_TRACE(target);
    expect_hf_is_static("tiny", {.target = target, .recipe = recipe_});
  }
}

TEST_F(MaskedSoftmaxAnd8BitValues, AreInTheGraphAsTheRecipeSays) {
  const Model model = compiled("tiny", {.recipe = recipe_});
  const Graph& graph = model.graph(GraphRole::decode);
  std::map<Op, int> counts;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    ++counts[node.op];
    if (node.op != Op::conv2d) continue;
    const Value& read = graph.value(node.inputs[0]);
    const Value& made = graph.value(node.output());
    const bool values = node.module.ends_with("v_proj");
    EXPECT_EQ(read.dtype, values ? DType::u8 : DType::u16) << node.module;
    EXPECT_EQ(made.dtype, read.dtype) << node.module;
    if (values) {
      EXPECT_EQ(made.encoding->zero_point, 128) << node.module;
    }
    if (node.module.ends_with("down_proj")) {
      EXPECT_EQ(read.encoding->zero_point, 32768) << node.module;
      EXPECT_EQ(made.encoding->zero_point, 32768) << node.module;
    }
  }
  // Of each of 4 layers: both halves of the keys, what v_proj and what down_proj reads.
  EXPECT_EQ(counts[Op::requantize], 4 * 4);
  EXPECT_EQ(counts[Op::masked_softmax], 4);
  EXPECT_EQ(counts[Op::softmax], 0);
}

/// Heads of 24 numbers, which R3 rotates by a matrix.
class RotationByAMatrix : public GraphIdentity {
 protected:
  RotationByAMatrix() {
    nlohmann::json config = testing::model_shape("smallest");
    config.update({{"num_hidden_layers", 2}, {"head_dim", 24}});
    testing::write_random_checkpoint(source_, config, 0);
  }

  const std::string source_ = (folder_ / "model").string();
};

TEST_F(RotationByAMatrix, HfIsStatic) {
  for (const char* target : {"cpu", "htp"}) {
    SCOPED_TRACE(target);
    expect_hf_is_static(source_, {.target = target, .quant = "16a4w", .r3 = true});
  }
}

// Neither are its 24 rows a whole block, nor would 4 bits leave it orthogonal.
TEST_F(RotationByAMatrix, Keeps8BitsBesideWeightsOf4) {
  for (const char* quant : {"16a4w", "16a4w_block"}) {
    SCOPED_TRACE(quant);
    std::string table;
    const Model model = compiled(
        source_, {.quant = quant, .r3 = true, .explain = [&](auto text) { table = text; }});
    EXPECT_THAT(table, HasSubstr("fixed: the rotation of r3"));
    int rotations = 0;
    const Graph& graph = model.graph(GraphRole::decode);
    for (const NodeId id : graph.order()) {
      const Node& node = graph.node(id);
      if (node.op != Op::conv2d) continue;
      const Value& weight = graph.value(node.inputs[1]);
      const bool rotates = weight.shape == Shape{24, 24, 1, 1};
      rotations += rotates ? 1 : 0;
      EXPECT_EQ(weight.dtype, rotates ? DType::i8 : DType::i4) << node.module;
    }
    EXPECT_EQ(rotations, 4);  // queries and keys of two layers
  }
}

}  // namespace
}  // namespace lathe
