// Why RoPE comes from tables: the same rotation in a 16-bit integer graph, with cos and sin
// computed in the graph and with precomputed ones.

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "api/golden.h"
#include "executors/reference/evaluator.h"
#include "frontend/rope.h"
#include "graph/text.h"
#include "passes/pipelines.h"
#include "quant/quantizer.h"
#include "support/random.h"

namespace lathe {
namespace {

constexpr int64_t kPositions = 4096;
constexpr int64_t kFirstMeasured = 4000;
constexpr int64_t kHeadDim = 64;

/// Llama 3.2: theta 500,000 and frequencies scaled for 128k positions.
std::vector<float> frequencies() {
  const RopeConfig rope{.kind = RopeConfig::Kind::llama3,
                        .theta = 500000.0,
                        .factor = 32.0,
                        .original_max_position_embeddings = 8192};
  return rope_inverse_frequencies(rope, kHeadDim, kPositions);
}

/// The rotation as Hugging Face's code traces it, of one head at every position.
Graph rotation_in_the_graph() {
  Graph graph = parse_graph(R"(graph calibrate ar=4096 cl=4096
  input %q : f32[1, 1, 4096, 64]
  input %position_ids : i64[1, 4096]
  const %rotary_emb.inv_freq : f32[32]
  %column = aten.unsqueeze(%position_ids) {dim=2}
  %to = aten.to(%column) {dtype=f32}
  %angles = aten.mul(%to, %rotary_emb.inv_freq)
  %both = aten.cat(%angles, %angles) {dim=-1}
  %cos = aten.cos(%both)
  %sin = aten.sin(%both)
  %cos_heads = aten.unsqueeze(%cos) {dim=1}
  %sin_heads = aten.unsqueeze(%sin) {dim=1}
  %straight = aten.mul(%q, %cos_heads)
  %low = aten.slice(%q) {dim=3, start=0, end=32}
  %high = aten.slice(%q) {dim=3, start=32, end=64}
  %neg = aten.neg(%high)
  %half = aten.cat(%neg, %low) {dim=-1}
  %turned = aten.mul(%half, %sin_heads)
  %rotated = aten.add(%straight, %turned)
  output rotated = %rotated
)");
  graph.set_constant(graph.find("rotary_emb.inv_freq"),
                     float_constant("rotary_emb.inv_freq", frequencies()));
  return graph;
}

/// [kPositions, kHeadDim]
std::vector<float> queries() {
  SplitMix64 random(1);
  std::vector<float> numbers(static_cast<size_t>(kPositions * kHeadDim));
  for (float& number : numbers) {
    number = static_cast<float>(static_cast<double>(random.next() >> 11) * 0x1p-53 * 8.0 - 4.0);
  }
  return numbers;
}

/// Binds positions and either float queries or codes of them, runs, and gives what `output` holds
/// as real numbers.
std::vector<float> run(const Graph& graph, std::vector<float> q,
                       const Evaluator::Observer& observer = {}) {
  Evaluator evaluator(std::make_shared<const Graph>(graph));
  std::vector<int64_t> ids(kPositions);
  std::vector<int32_t> positions(kPositions);
  std::iota(ids.begin(), ids.end(), 0);
  std::iota(positions.begin(), positions.end(), 0);
  std::vector<uint16_t> codes;
  for (const IoTensor& input : graph.io().inputs) {
    void* data = q.data();
    if (input.name == "position_ids") data = ids.data();
    if (input.name == "position") data = positions.data();
    if (input.name == "q" && input.encoding) {
      for (const float number : q) {
        codes.push_back(static_cast<uint16_t>(std::nearbyint(number / input.encoding->scale[0]) +
                                              static_cast<float>(input.encoding->zero_point)));
      }
      data = codes.data();
    }
    evaluator.bind_input(input.name, dense_view(input.dtype, input.shape, data));
  }
  const IoTensor output = *graph.io().find_output("rotated");
  std::vector<std::byte> memory(static_cast<size_t>(byte_size(output.dtype, output.shape)));
  evaluator.bind_output("rotated", dense_view(output.dtype, output.shape, memory.data()));
  evaluator.observe(observer);
  evaluator.run();
  std::vector<float> rotated(q.size());
  for (size_t i = 0; i < rotated.size(); ++i) {
    rotated[i] = output.encoding
                     ? output.encoding->scale[0] *
                           static_cast<float>(reinterpret_cast<const uint16_t*>(memory.data())[i] -
                                              output.encoding->zero_point)
                     : reinterpret_cast<const float*>(memory.data())[i];
  }
  return rotated;
}

Graph quantized(Graph graph) {
  ThreadPool pool(2);
  const Pipeline pipeline = pipeline_of(Variant::hf, Target::cpu);
  const FloatRun observe = [&](const CalibrationBatch&, const FloatObserver& observer) {
    run(graph, queries(), [&](ValueId id, const TensorView& view) {
      if (view.dtype != DType::f32) return;
      observer(id, {view.as<float>(), static_cast<size_t>(elements(view.shape))});
    });
  };
  const std::vector<CalibrationBatch> batches(1);
  const RangeTable ranges = calibrate(graph, observe, batches, pool);
  run_passes(graph, pipeline.annotate);
  Graph integer = quantize_model({&graph, 1}, ranges, 0, {}, pool).graphs.front();
  run_passes(integer, pipeline.lower);
  return integer;
}

/// Signal to noise, in dB, of the rows from kFirstMeasured on.
double sqnr_at_the_end(const std::vector<float>& exact, const std::vector<float>& found) {
  double signal = 0.0;
  double noise = 0.0;
  for (size_t i = static_cast<size_t>(kFirstMeasured * kHeadDim); i < exact.size(); ++i) {
    const double difference = static_cast<double>(exact[i]) - found[i];
    signal += static_cast<double>(exact[i]) * exact[i];
    noise += difference * difference;
  }
  return 10.0 * std::log10(signal / noise);
}

TEST(rope_precision, TablesAreWorthTwentyDecibelsAtPosition4000) {
  const Graph in_the_graph = rotation_in_the_graph();
  Graph from_tables = in_the_graph;
  precomputed_rope(from_tables);
  canonicalize_rope(from_tables);
  const std::vector<float> exact = run(from_tables, queries());
  const double before = sqnr_at_the_end(exact, run(quantized(in_the_graph), queries()));
  const double after = sqnr_at_the_end(exact, run(quantized(from_tables), queries()));
  testing::report_figure("sqnr_db_in_the_graph", before);
  testing::report_figure("sqnr_db_from_tables", after);
  EXPECT_GE(after, before + 20.0);
}

}  // namespace
}  // namespace lathe
