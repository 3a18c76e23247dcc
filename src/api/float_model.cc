#include "api/float_model.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "executors/float/float_kernels.h"
#include "graph/fixed_encodings.h"
#include "support/error.h"

namespace lathe {
namespace {

Graph build(const std::shared_ptr<const Checkpoint>& checkpoint, const GraphShape& shape,
            const FloatForm& form) {
  if (form.variant != Variant::static_form) return build_hf_graph(checkpoint, shape);
  const PassOptions& options = form.control.options;
  return build_static_graph(checkpoint, shape,
                            {.r3 = options.r3,
                             .decomposed_silu = form.target == Target::htp,
                             .masked_softmax = options.masked_softmax});
}

}  // namespace

Graph float_graph(const std::shared_ptr<const Checkpoint>& checkpoint, const GraphShape& shape,
                  const FloatForm& form) {
  Graph graph = build(checkpoint, shape, form);
  run_passes(graph, pipeline_of(form.variant, form.target).build, form.control);
  if (form.transform) form.transform(graph);
  return graph;
}

FloatModel::FloatModel(std::shared_ptr<const Checkpoint> checkpoint, int threads,
                       FloatExecutor executor, FloatForm form)
    : checkpoint_(std::move(checkpoint)), form_(std::move(form)) {
  if (executor == FloatExecutor::fast) kernels_ = std::make_shared<FloatKernels>(threads);
}

void FloatModel::prepare(int64_t tokens) {
  if (graph_ && graph_->tokens_per_call() == tokens) return;
  graph_ = float_graph(checkpoint_, {GraphRole::calibrate, tokens, tokens}, form_);
  // Rows are multiplied faster than channels, and between two products nothing has to be moved.
  Graph rows = *graph_;
  same_as_.clear();
  const auto same_numbers = convert_conv2d_to_linear(rows);
  sink_layout(rows);
  fuse_consecutive_permute(rows);
  fuse_consecutive_reshape(rows);
  same_as_.assign(static_cast<size_t>(rows.value_count()), kNone);
  std::iota(same_as_.begin(), same_as_.begin() + graph_->value_count(), 0);
  for (const auto& [linear, conv2d] : same_numbers) same_as_[static_cast<size_t>(linear)] = conv2d;
  evaluator_ =
      std::make_unique<Evaluator>(std::make_shared<const Graph>(std::move(rows)), kernels_);
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

Evaluator::Observer FloatModel::with_ids_of_graph(const Evaluator::Observer& observer) const {
  if (!observer) return {};
  return [this, &observer](ValueId id, const TensorView& view) {
    const ValueId same = same_as_[static_cast<size_t>(id)];
    if (same != kNone) observer(same, view);
  };
}

void FloatModel::bind_inputs(std::span<const int64_t> ids, std::span<const int64_t> starts) {
  const auto count = static_cast<int64_t>(ids.size());
  inputs_.tokens.assign(ids.begin(), ids.end());
  inputs_.ids.assign(ids.begin(), ids.end());
  inputs_.positions.resize(ids.size());
  inputs_.positions64.resize(ids.size());
  inputs_.mask.assign(ids.size() * ids.size(), attention_mask_low());
  const int64_t window = graph_->window();
  if (window > 0) inputs_.window_mask = inputs_.mask;
  std::iota(inputs_.positions64.begin(), inputs_.positions64.end(), 0);
  size_t next_start = 0;
  int64_t start = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (next_start < starts.size() && starts[next_start] == i) start = starts[next_start++];
    inputs_.positions[static_cast<size_t>(i)] = static_cast<int32_t>(i - start);
    std::fill_n(inputs_.mask.begin() + i * count + start, i - start + 1, 0.0f);
    if (window == 0) continue;
    const int64_t visible = std::max(start, i - window + 1);
    std::fill_n(inputs_.window_mask.begin() + i * count + visible, i - visible + 1, 0.0f);
  }
  const IoContract io = graph_->io();
  size_t largest = 0;
  for (const IoTensor& input : io.inputs) {
    largest = std::max(largest, static_cast<size_t>(byte_size(input.dtype, input.shape)));
  }
  const std::initializer_list<std::pair<std::string_view, void*>> known{
      {"tokens", inputs_.tokens.data()},
      {"input_ids", inputs_.ids.data()},
      {"position", inputs_.positions.data()},
      {"cache_position", inputs_.positions64.data()},
      {"attention_mask", inputs_.mask.data()},
      {"window_attention_mask", inputs_.window_mask.data()}};
  for (const IoTensor& input : io.inputs) {
    void* data = nullptr;
    for (const auto& [name, memory] : known) {
      if (name == input.name) data = memory;
    }
    if (data == nullptr && byte_size(input.dtype, input.shape) > 0) {
      inputs_.zeros.resize(largest);  // caches: nothing is in them yet
      data = inputs_.zeros.data();
    }
    evaluator_->bind_input(input.name, dense_view(input.dtype, input.shape, data));
  }
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
  for (const int64_t id : ids) {
    if (id >= 0 && id < vocab()) continue;
    fail({.what = "a token id is outside the vocabulary",
          .expected = "0 to " + std::to_string(vocab() - 1),
          .found = std::to_string(id)});
  }
  prepare(count);
  bind_inputs(ids, starts);
  evaluator_->stream_output("logits", std::move(sink));
  evaluator_->observe(with_ids_of_graph(observer));
  evaluator_->run();
}

}  // namespace lathe
