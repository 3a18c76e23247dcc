#include "eval/value_differences.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "decode/runner.h"
#include "graph/constant.h"
#include "graph/operators.h"
#include "support/decibels.h"
#include "support/error.h"

namespace lathe {
namespace {

/// Sums up the differences of one value.
class DifferenceMeter {
 public:
  explicit DifferenceMeter(const Encoding& encoding) : encoding_(encoding) {}

  void add(const TensorView& reference, const TensorView& tested) {
    reference.dtype == DType::u8 ? add_codes<uint8_t>(reference, tested)
                                 : add_codes<uint16_t>(reference, tested);
  }

  double sqnr_db() const { return decibels(signal_, noise_); }
  int64_t worst_codes() const { return worst_; }

 private:
  template <typename Code>
  void add_codes(const TensorView& reference, const TensorView& tested) {
    const int64_t count = elements(reference.shape);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t expected = reference.as<Code>()[i];
      const int64_t difference = tested.as<Code>()[i] - expected;
      const auto real = static_cast<double>(expected - encoding_.zero_point);
      // Both in codes: the scale is the same and cancels out.
      signal_ += real * real;
      noise_ += static_cast<double>(difference * difference);
      worst_ = std::max(worst_, std::abs(difference));
    }
  }

  Encoding encoding_;
  double signal_ = 0;
  double noise_ = 0;
  int64_t worst_ = 0;
};

/// The graph with more of its values as outputs.
Graph with_outputs(const Graph& graph, std::span<const ValueId> values) {
  Graph watched = graph;
  for (const ValueId id : values) {
    const Value& value = graph.value(id);
    const bool codes = value.encoding && !value.encoding->per_channel() &&
                       (value.dtype == DType::u8 || value.dtype == DType::u16);
    if (!codes || value.is_constant()) {
      fail({.what = "value is no activation of 8 or 16 bits", .where = value.name});
    }
    watched.add_output(value.name, id);
  }
  return watched;
}

/// Two sessions over one graph as one: the reference does the work, the other one is watched.
class ComparedSession final : public Session {
 public:
  ComparedSession(const Graph& graph, std::span<const ValueId> values, const MakeSession& reference,
                  const MakeSession& tested, std::vector<DifferenceMeter>& meters)
      : io_(graph.io()), meters_(meters) {
    const Graph watched = with_outputs(graph, values);
    reference_ = reference(watched);
    tested_ = tested(watched);
    for (const ValueId id : values) {
      const Value& value = graph.value(id);
      pairs_.push_back({bind_own(*reference_, value.name, value.dtype, value.shape),
                        bind_own(*tested_, value.name, value.dtype, value.shape)});
      meters_.emplace_back(*value.encoding);
    }
    for (const IoTensor& output : io_.outputs) {
      bind_own(*tested_, output.name, output.dtype, output.shape);
    }
  }

  const IoContract& io() const override { return io_; }
  bool wants_dense_inputs() const override {
    return reference_->wants_dense_inputs() || tested_->wants_dense_inputs();
  }

  void bind(std::string_view name, const TensorView& view) override {
    reference_->bind(name, view);
    if (io_.find_input(name) != nullptr) tested_->bind(name, view);
  }

  void run() override {
    reference_->run();
    tested_->run();
    for (size_t i = 0; i < pairs_.size(); ++i) meters_[i].add(pairs_[i].first, pairs_[i].second);
  }

 private:
  TensorView bind_own(Session& session, const std::string& name, DType dtype, const Shape& shape) {
    memory_.push_back(aligned_bytes(byte_size(dtype, shape)));
    const TensorView view = dense_view(dtype, shape, memory_.back().get());
    session.bind(name, view);
    return view;
  }

  IoContract io_;
  std::unique_ptr<Session> reference_;
  std::unique_ptr<Session> tested_;
  std::vector<std::shared_ptr<std::byte>> memory_;
  std::vector<std::pair<TensorView, TensorView>> pairs_;  // of each watched value
  std::vector<DifferenceMeter>& meters_;
};

}  // namespace

std::vector<ValueDifference> compare_values(const Graph& graph, std::span<const ValueId> values,
                                            const MakeSession& reference, const MakeSession& tested,
                                            std::span<const int64_t> ids) {
  std::vector<DifferenceMeter> meters;
  Runner runner(std::make_unique<ComparedSession>(graph, values, reference, tested, meters),
                nullptr, RunMode::kv);
  runner.prefill(ids);
  std::vector<ValueDifference> differences;
  for (size_t i = 0; i < values.size(); ++i) {
    const Value& value = graph.value(values[i]);
    const Node* producer = graph.producer(values[i]);
    differences.push_back({value.name, producer == nullptr ? "" : producer->module,
                           producer == nullptr ? "" : std::string(rule_of(producer->op).name),
                           meters[i].sqnr_db(), meters[i].worst_codes()});
  }
  return differences;
}

}  // namespace lathe
