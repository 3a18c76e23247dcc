// A model whose layers slide but for every sixth, with a window of 4 and ten tokens: which keys the
// last token sees, in a whole sequence and out of rings of four slots, which RoPE rotates them, and
// that what is compiled runs as the float graph does.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "api/embedded_checkpoint.h"
#include "api/float_model.h"
#include "api/golden.h"
#include "api/model_cases.h"
#include "decode/runner.h"
#include "eval/agreement.h"
#include "executors/reference/evaluator.h"
#include "lathe/compile.h"
#include "lathe/language_model.h"
#include "support/test_files.h"
#include "tools/random_weights.h"

namespace lathe {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kTokens = 10;
constexpr int64_t kContext = 16;
constexpr size_t kLayers = 6;
constexpr size_t kFullLayer = 5;

using Columns = std::vector<int64_t>;

/// By the module of an attention: the columns of the last row of its softmax that are not 0 in some
/// head.
class SeenColumns {
 public:
  explicit SeenColumns(const Graph& graph) {
    for (const NodeId id : graph.order()) {
      const Node& node = graph.node(id);
      if (node.op == Op::softmax) modules_.emplace(node.output(), node.module);
    }
  }

  void look(ValueId id, const TensorView& weights) {
    const auto module = modules_.find(id);
    if (module == modules_.end()) return;
    const Shape& shape = weights.shape;  // [1, H, AR, columns]
    std::set<int64_t> seen;
    for (int64_t head = 0; head < shape[1]; ++head) {
      const float* last =
          weights.as<float>() + head * weights.strides[1] + (shape[2] - 1) * weights.strides[2];
      for (int64_t column = 0; column < shape[3]; ++column) {
        if (last[column] != 0.0f) seen.insert(column);
      }
    }
    by_module_[module->second] = {seen.begin(), seen.end()};
  }

  Columns of_layer(size_t layer) const {
    return by_module_.at("model.layers." + std::to_string(layer) + ".self_attn");
  }

 private:
  std::map<ValueId, std::string> modules_;
  std::map<std::string, Columns> by_module_;
};

/// The reference executor, with an eye on what its attentions see.
class WatchedSession final : public Session {
 public:
  WatchedSession(std::shared_ptr<const Graph> graph, SeenColumns& seen)
      : io_(graph->io()), evaluator_(std::move(graph)) {
    evaluator_.observe([&seen](ValueId id, const TensorView& view) { seen.look(id, view); });
  }
  const IoContract& io() const override { return io_; }
  void bind(std::string_view name, const TensorView& view) override {
    if (io_.find_input(name) != nullptr) {
      evaluator_.bind_input(name, view);
    } else {
      evaluator_.bind_output(name, view);
    }
  }
  void run() override { evaluator_.run(); }

 private:
  IoContract io_;
  Evaluator evaluator_;
};

class SlidingLayers : public ::testing::Test {
 protected:
  SlidingLayers() {
    nlohmann::json config = testing::model_shape("smallest");
    config.update({{"model_type", "gemma3_text"},
                   {"hidden_activation", "gelu_pytorch_tanh"},
                   {"num_hidden_layers", kLayers},
                   {"query_pre_attn_scalar", 16},
                   {"rope_theta", 1e6},
                   {"rope_local_base_freq", 1e4},
                   {"sliding_window", 4},
                   {"sliding_window_pattern", 6}});
    testing::write_random_checkpoint(source_, config, /*seed=*/1);
    std::iota(ids_.begin(), ids_.end(), 20);
  }

  std::vector<float> float_logits() const {
    std::vector<float> logits;
    FloatModel(open_source(source_), 1, FloatExecutor::reference)
        .run(ids_, [&](int64_t, std::span<const float> row) {
          logits.insert(logits.end(), row.begin(), row.end());
        });
    return logits;
  }

  const testing::TestFolder folder_;
  const std::filesystem::path source_ = folder_ / "model";
  std::vector<int64_t> ids_ = std::vector<int64_t>(kTokens);
};

TEST_F(SlidingLayers, InAWholeSequenceTheLastTokenSeesFourKeysOrAll) {
  for (const Variant variant : {Variant::hf, Variant::static_form}) {
    FloatModel model(open_source(source_), 1, FloatExecutor::reference, {.variant = variant});
    std::optional<SeenColumns> seen;
    model.run(ids_, {}, [&](ValueId id, const TensorView& view) {
      if (!seen) seen.emplace(model.graph());
      seen->look(id, view);
    });
    for (size_t layer = 0; layer < kFullLayer; ++layer) {
      EXPECT_THAT(seen->of_layer(layer), ElementsAre(6, 7, 8, 9)) << "layer " << layer;
    }
    EXPECT_THAT(seen->of_layer(kFullLayer), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  }
}

TEST_F(SlidingLayers, OutOfRingsTheLastTokenSeesTheSameKeys) {
  const auto graph = std::make_shared<const Graph>(
      float_graph(open_source(source_), {GraphRole::decode, 1, kContext}));
  SeenColumns seen(*graph);
  Runner runner(std::make_unique<WatchedSession>(graph, seen), nullptr, RunMode::kv);
  const std::vector<float> logits = testing::prefill_logits(runner, ids_);
  // Position p lies in slot p mod 4: slot 0 holds 8, slot 1 holds 5, which has left the window.
  // Behind the slots comes the token itself.
  for (size_t layer = 0; layer < kFullLayer; ++layer) {
    EXPECT_THAT(seen.of_layer(layer), ElementsAre(0, 2, 3, 4)) << "layer " << layer;
  }
  EXPECT_THAT(seen.of_layer(kFullLayer), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, kContext - 1));
  EXPECT_LE(testing::max_difference(logits, float_logits()), 1e-5);
}

/// Row 1 of the tables that the rotations of a layer multiply with: by the name of each.
std::map<std::string, std::vector<float>> tables_of(const Graph& graph, size_t layer) {
  std::map<std::string, std::vector<float>> rows;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.op != Op::mul || node.inputs.size() != 2 ||
        node.module != "model.layers." + std::to_string(layer) + ".self_attn") {
      continue;
    }
    const Node* unsqueeze = graph.producer(node.inputs[1]);
    const Node* picked = unsqueeze == nullptr ? nullptr : graph.producer(unsqueeze->inputs[0]);
    if (picked == nullptr || picked->op != Op::embedding) continue;
    const Value& table = graph.value(picked->inputs[0]);
    std::vector<float>& row = rows[table.name];
    row.resize(static_cast<size_t>(table.shape[1]));
    table.constant->floats->read(table.shape[1], table.shape[1], row.data());
  }
  return rows;
}

TEST_F(SlidingLayers, RotateByABaseOfTheirOwn) {
  const Graph graph = float_graph(open_source(source_), {GraphRole::decode, 1, kContext});
  for (size_t layer = 0; layer < kLayers; ++layer) {
    const double theta = layer == kFullLayer ? 1e6 : 1e4;
    const auto tables = tables_of(graph, layer);
    ASSERT_EQ(tables.size(), 2u) << "layer " << layer;
    for (const auto& [name, row] : tables) {
      ASSERT_EQ(row.size(), 8u) << name;
      for (size_t i = 0; i < row.size(); ++i) {
        const double angle = std::pow(theta, -static_cast<double>(i) / 8.0);
        const bool cosine = name.find("cos") != std::string::npos;
        EXPECT_NEAR(row[i], cosine ? std::cos(angle) : std::sin(angle), 1e-6) << name << " " << i;
      }
    }
  }
}

TEST_F(SlidingLayers, CompiledTheyRunAsTheFloatGraph) {
  const std::filesystem::path artifact = folder_ / "model.lathe";
  compile(source_, artifact, {.context = kContext, .prefill = 3, .quant = "16a8w", .threads = 2});
  const std::vector<float> expected = float_logits();
  const auto vocab = expected.size() / kTokens;
  std::vector<std::vector<float>> found;
  for (const ExecutorKind executor : {ExecutorKind::reference, ExecutorKind::cpu}) {
    for (const RunMode mode : {RunMode::kv, RunMode::hybrid}) {
      const auto model =
          LanguageModel::open(artifact, {.executor = executor, .mode = mode, .threads = 2});
      found.push_back(testing::prefill_logits(model->runner(), ids_));
    }
  }
  EXPECT_EQ(found[0], found[1]) << "token by token and in chunks, reference";
  EXPECT_EQ(found[2], found[3]) << "token by token and in chunks, cpu";
  const auto sqnr_db = [&](const std::vector<float>& reference, const std::vector<float>& logits) {
    AgreementMeter meter;
    for (size_t row = 0; row < reference.size(); row += vocab) {
      meter.add(std::span(reference).subspan(row, vocab), std::span(logits).subspan(row, vocab));
    }
    return meter.result().sqnr_db;
  };
  EXPECT_GE(sqnr_db(found[0], found[2]), 50.0);
  EXPECT_GE(sqnr_db(expected, found[2]), 18.0);  // random weights
  testing::report_figure("sqnr_db", sqnr_db(expected, found[2]));
}

}  // namespace
}  // namespace lathe
