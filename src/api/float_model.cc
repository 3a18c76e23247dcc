#include "api/float_model.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "executors/float/float_kernels.h"
#include "graph/fixed_encodings.h"
#include "passes/pipelines.h"
#include "support/error.h"

namespace lathe {

Graph float_graph(const std::shared_ptr<const Checkpoint>& checkpoint, const GraphShape& shape,
                  const GraphTransform& transform) {
  Graph graph = build_hf_graph(checkpoint, shape);
  run_passes(graph, hf_pipeline());
  if (transform) transform(graph);
  return graph;
}

FloatModel::FloatModel(std::shared_ptr<const Checkpoint> checkpoint, int threads,
                       FloatExecutor executor, GraphTransform transform)
    : checkpoint_(std::move(checkpoint)), transform_(std::move(transform)) {
  if (executor == FloatExecutor::fast) kernels_ = std::make_shared<FloatKernels>(threads);
}

void FloatModel::prepare(int64_t tokens) {
  if (graph_ != nullptr && graph_->tokens_per_call() == tokens) return;
  graph_ = std::make_shared<const Graph>(
      float_graph(checkpoint_, {GraphRole::calibrate, tokens, tokens}, transform_));
  evaluator_ = std::make_unique<Evaluator>(graph_, kernels_);
}

void FloatModel::run(
    std::span<const int64_t> ids,
    const std::function<void(int64_t position, std::span<const float> row)>& logits,
    const Evaluator::Observer& observer) {
  Evaluator::RowSink sink;
  if (logits) {
    sink = [&](int64_t first_row, const TensorView& rows) {
      const int64_t width = rows.shape.back();
      for (int64_t row = 0; row < rows.shape[0]; ++row) {
        logits(first_row + row, {rows.as<float>() + row * width, static_cast<size_t>(width)});
      }
    };
  }
  constexpr int64_t kFromTheFirst[] = {0};
  run(ids, kFromTheFirst, std::move(sink), observer);
}

void FloatModel::run(const CalibrationBatch& batch, const Evaluator::Observer& observer) {
  run(batch.tokens, batch.starts, {}, observer);
}

void FloatModel::run(std::span<const int64_t> ids, std::span<const int64_t> starts,
                     Evaluator::RowSink sink, const Evaluator::Observer& observer) {
  const auto count = static_cast<int64_t>(ids.size());
  if (count == 0) fail({.what = "there are no tokens to run"});
  if (count > context()) {
    fail({.what = "the text is longer than the model's context",
          .expected = "at most " + std::to_string(context()) + " tokens",
          .found = std::to_string(count)});
  }
  std::vector<int32_t> tokens;
  for (const int64_t id : ids) {
    if (id < 0 || id >= vocab()) {
      fail({.what = "a token id is outside the vocabulary",
            .expected = "0 to " + std::to_string(vocab() - 1),
            .found = std::to_string(id)});
    }
    tokens.push_back(static_cast<int32_t>(id));
  }
  prepare(count);
  std::vector<int32_t> positions(ids.size());
  std::vector<float> mask(ids.size() * ids.size(), attention_mask_low());  // [tokens, tokens]
  size_t next_start = 0;
  int64_t start = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (next_start < starts.size() && starts[next_start] == i) start = starts[next_start++];
    positions[static_cast<size_t>(i)] = static_cast<int32_t>(i - start);
    std::fill_n(mask.begin() + i * count + start, i - start + 1, 0.0f);
  }
  for (const IoTensor& input : graph_->io().inputs) {
    void* data = input.name == "tokens"           ? static_cast<void*>(tokens.data())
                 : input.name == "position"       ? static_cast<void*>(positions.data())
                 : input.name == "attention_mask" ? static_cast<void*>(mask.data())
                                                  : nullptr;  // caches without slots
    evaluator_->bind_input(input.name, dense_view(input.dtype, input.shape, data));
  }
  evaluator_->stream_output("logits", std::move(sink));
  evaluator_->observe(observer);
  evaluator_->run();
}

}  // namespace lathe
