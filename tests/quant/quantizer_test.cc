#include "quant/quantizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "graph/fixed_encodings.h"
#include "graph/text.h"
#include "graph/verifier.h"
#include "passes/pipelines.h"
#include "quant/convert.h"
#include "quant/encodings.h"
#include "quant/one_layer.h"
#include "quant/recipe_library.h"
#include "quant/weight_choice.h"
#include "support/error.h"

namespace lathe {
namespace {

using testing::HasSubstr;

const std::vector<CalibrationBatch> kBatches{{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}, {{0, 0, 3}}};

/// The integer graphs of the layer, and what quantization reports.
QuantizedModel quantize_layer(const Recipe& recipe, int threads) {
  ThreadPool pool(threads);
  PassControl control{{recipe.activation, recipe.kv_bits, recipe.r3, recipe.masked_softmax}};
  const Pipeline pipeline = pipeline_of(Variant::hf, Target::cpu);
  std::vector<Graph> graphs{test::one_layer(GraphRole::decode, 1, 16),
                            test::one_layer(GraphRole::prefill, 4, 16)};
  const std::vector<WeightChoice> choices = choose_weights(recipe, graphs.front());
  control.options.products = other_activations(recipe, choices);
  for (Graph& graph : graphs) run_passes(graph, pipeline.annotate, control);
  const RangeTable ranges =
      calibrate(test::one_layer(GraphRole::calibrate, 10, 10), test::run_one_layer, kBatches, pool);
  const WeightPlan weights{formats_of(choices)};
  QuantizedModel model = quantize_model(graphs, ranges, recipe.headroom, weights, pool);
  for (Graph& graph : model.graphs) run_passes(graph, pipeline.lower, control);
  return model;
}

const Value& value(const Graph& graph, const std::string& name) {
  return graph.value(graph.find(name));
}

class QuantizedLayer : public testing::Test {
 protected:
  QuantizedModel model_ = quantize_layer(load_recipe("default-16a8w"), 2);
  const Graph& decode_ = model_.graphs[0];
  const Graph& prefill_ = model_.graphs[1];
};

TEST_F(QuantizedLayer, IsAnIntegerGraph) {
  EXPECT_NO_THROW(verify(decode_, true));
  EXPECT_NO_THROW(verify(prefill_, true));
  EXPECT_EQ(value(decode_, "tokens").dtype, DType::i32);
  EXPECT_EQ(value(decode_, "logits").dtype, DType::u16);
}

TEST_F(QuantizedLayer, ValuePathIsLinear16Requantize8View8Transpose8Cat8) {
  std::vector<std::string> path;
  ValueId id = decode_.find("v_all");
  while (true) {
    const Node& node = *decode_.producer(id);
    path.push_back(std::to_string(bits_of(decode_.value(id).dtype)));
    if (node.op == Op::linear) break;
    id = node.inputs[node.op == Op::cat ? 1 : 0];
  }
  EXPECT_THAT(path, testing::ElementsAre("8", "8", "8", "8", "16"));
  EXPECT_EQ(decode_.producer(decode_.producer(decode_.find("v_view"))->inputs[0])->op,
            Op::requantize);
}

TEST_F(QuantizedLayer, CachesComeInAndGoOutInOneEncoding) {
  const IoContract io = decode_.io();
  for (const std::string letter : {"k", "v"}) {
    const IoTensor& in = *io.find_input(letter + "_cache_0");
    const IoTensor& out = *io.find_output(letter + "_new_0");
    EXPECT_EQ(in.dtype, DType::u8);
    EXPECT_EQ(in.encoding->zero_point, 128);
    EXPECT_EQ(in.encoding, out.encoding);
    EXPECT_EQ(in.encoding, prefill_.io().find_input(letter + "_cache_0")->encoding);
  }
}

TEST_F(QuantizedLayer, EncodingsFollowTheRangesSeenInCalibration) {
  ThreadPool pool(1);
  const Graph calibration = test::one_layer(GraphRole::calibrate, 10, 10);
  const RangeTable ranges = calibrate(calibration, test::run_one_layer, kBatches, pool);
  const auto range = [&](const std::string& name) {
    return ranges[static_cast<size_t>(calibration.find(name))];
  };
  EXPECT_EQ(value(decode_, "attended").encoding,
            affine_encoding(DType::u16, with_headroom(range("attended"), 25), ""));
  EXPECT_EQ(value(decode_, "v_cache_0").encoding, symmetric_encoding(DType::u8, range("v"), ""));
  EXPECT_EQ(value(decode_, "k_cache_0").encoding,
            symmetric_encoding(DType::u8, range("k_rope"), ""));
  ValueRange q = range("q");
  q.include(range("q_neg"));
  EXPECT_EQ(value(decode_, "q_half").encoding,
            affine_encoding(DType::u16, with_headroom(q, 25), ""));
}

TEST_F(QuantizedLayer, FixedEncodingsAndTables) {
  EXPECT_EQ(value(decode_, "attention_mask").encoding, attention_mask_encoding());
  EXPECT_EQ(value(decode_, "weights").encoding, unit_encoding());
  EXPECT_EQ(value(decode_, "cos_table").encoding,
            (Encoding{DType::u16, {static_cast<float>(2.0 / 65535.0)}, 32768, -1}));
}

TEST_F(QuantizedLayer, RolesShareTheBytesOfConstants) {
  for (const NodeId id : decode_.order()) {
    for (const ValueId input : decode_.node(id).inputs) {
      EXPECT_EQ(decode_.value(input).constant, prefill_.value(input).constant);
    }
  }
}

TEST_F(QuantizedLayer, TiedEmbeddingsAreStoredInBothForms) {
  const Value& table = value(decode_, "embed");
  const Value& head = decode_.value(decode_.producer(decode_.find("logits"))->inputs[1]);
  EXPECT_EQ(table.dtype, DType::u16);
  EXPECT_EQ(table.constant->name, "embed.u16");
  EXPECT_EQ(table.constant->layout, Layout::rows);
  EXPECT_EQ(head.dtype, DType::i8);
  EXPECT_EQ(head.constant->name, "embed.i8");
  EXPECT_EQ(head.constant->layout, Layout::packed);
  EXPECT_EQ(value(decode_, "bv").constant->name, "bv.i32");
  EXPECT_EQ(value(decode_, "bv").dtype, DType::i32);
}

TEST_F(QuantizedLayer, ReportNamesEveryGroup) {
  const auto found = std::find_if(model_.groups.begin(), model_.groups.end(),
                                  [](const GroupReport& group) { return group.value == "q"; });
  ASSERT_NE(found, model_.groups.end());
  EXPECT_EQ(found->module, "layers.0.q_proj");
  EXPECT_FALSE(found->range.empty());
  EXPECT_EQ(found->encoding, value(decode_, "q").encoding);
}

TEST(Quantizer, ResultDoesNotDependOnTheNumberOfThreads) {
  const Recipe recipe = load_recipe("default-16a8w");
  const QuantizedModel expected = quantize_layer(recipe, 1);
  const QuantizedModel result = quantize_layer(recipe, 5);
  for (size_t g = 0; g < expected.graphs.size(); ++g) {
    EXPECT_EQ(print_graph(result.graphs[g]), print_graph(expected.graphs[g]));
    for (ValueId id = 0; id < expected.graphs[g].value_count(); ++id) {
      const Value& a = expected.graphs[g].value(id);
      const Value& b = result.graphs[g].value(id);
      EXPECT_EQ(a.encoding, b.encoding) << a.name;
      if (!a.is_constant() || a.constant->bytes == nullptr) continue;
      ASSERT_EQ(a.constant->byte_count, b.constant->byte_count);
      EXPECT_EQ(std::memcmp(a.constant->bytes.get(), b.constant->bytes.get(),
                            static_cast<size_t>(a.constant->byte_count)),
                0)
          << a.name;
    }
  }
}

TEST(Quantizer, OtherWidths) {
  Recipe recipe = load_recipe("default-16a8w");
  recipe.kv_bits = 16;
  const QuantizedModel wide = quantize_layer(recipe, 1);
  EXPECT_EQ(value(wide.graphs[0], "k_cache_0").dtype, DType::u16);
  EXPECT_EQ(value(wide.graphs[0], "k_cache_0").encoding, value(wide.graphs[0], "k_rope").encoding);

  recipe.kv_bits = 8;
  recipe.activation = DType::u8;
  const QuantizedModel narrow = quantize_layer(recipe, 1);
  EXPECT_EQ(value(narrow.graphs[0], "attended").dtype, DType::u8);
  EXPECT_EQ(value(narrow.graphs[0], "weights").encoding, unit_encoding());
  EXPECT_EQ(value(narrow.graphs[0], "v_cache_0").encoding->zero_point, 128);
}

TEST(Quantizer, ARuleGivesAProductActivationsOfItsOwn) {
  const Recipe recipe = parse_recipe(
      R"({"name": "r", "dtype": "16a8w", "kv_bits": 8, "rules": [
            {"match": {"module": "v_proj"}, "dtype": "8a4w", "symmetric": true}]})",
      "mine.json");
  const QuantizedModel model = quantize_layer(recipe, 1);
  const Graph& decode = model.graphs[0];
  EXPECT_NO_THROW(verify(decode, true));
  const Node& product = *decode.producer(decode.find("v"));
  const Value& read = decode.value(product.inputs[0]);
  EXPECT_EQ(decode.producer(product.inputs[0])->op, Op::requantize);
  EXPECT_EQ(read.dtype, DType::u8);
  EXPECT_EQ(read.encoding->zero_point, 128);
  EXPECT_EQ(decode.value(product.inputs[1]).dtype, DType::i4);
  // What it gives is what the cache holds, with nothing in between.
  EXPECT_EQ(value(decode, "v").encoding, value(decode, "v_cache_0").encoding);
  EXPECT_EQ(decode.producer(decode.find("v_view"))->inputs[0], decode.find("v"));
  // As far from zero as was seen, on both sides; the 16-bit codes go a quarter further.
  const Value& wide = decode.value(decode.producer(product.inputs[0])->inputs[0]);
  const float largest =
      wide.encoding->scale[0] *
      static_cast<float>(std::max(wide.encoding->zero_point, 65535 - wide.encoding->zero_point));
  EXPECT_NEAR(read.encoding->scale[0], largest / 1.25f / 127.5f, largest * 1e-4f);
}

TEST(Quantizer, RefusesRolesThatDiffer) {
  std::string text = test::one_layer_text(GraphRole::prefill, 4, 16);
  text.replace(text.find("aten.silu"), 9, "aten.neg");
  const std::vector<Graph> graphs{test::one_layer(GraphRole::decode, 1, 16), parse_graph(text)};
  ThreadPool pool(1);
  try {
    quantize_model(graphs, {}, 0, {}, pool);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("aten.silu"));
  }
}

TEST(Quantizer, NamesAValueThatCalibrationDidNotSee) {
  Graph graph = test::one_layer(GraphRole::decode, 1, 16);
  run_passes(graph, pipeline_of(Variant::hf, Target::cpu).annotate);
  ThreadPool pool(1);
  try {
    quantize_model({&graph, 1}, {}, 0, {}, pool);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("of layers.0"));
  }
}

}  // namespace
}  // namespace lathe
