#include "quant/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "graph/groups.h"
#include "graph/operators.h"
#include "support/error.h"

namespace lathe {
namespace {

constexpr int64_t kGrain = 1 << 16;  // numbers that one thread reads at least

/// By value: whether its numbers are its own (not moved from another value) and not in [0, 1] by
/// definition.
std::vector<bool> values_with_a_range(const Graph& graph) {
  std::vector<bool> found(static_cast<size_t>(graph.value_count()), false);
  const Groups groups(graph);
  for (int32_t group = 0; group < groups.count(); ++group) {
    for (const ValueId id : groups.sources(group)) {
      const Node* producer = graph.producer(id);
      found[static_cast<size_t>(id)] =
          producer == nullptr || rule_of(producer->op).encoding != EncodingRule::unit;
    }
  }
  return found;
}

Scan scan_all(std::span<const float> numbers, ThreadPool& pool) {
  Scan result;
  std::mutex mutex;
  pool.split(static_cast<int64_t>(numbers.size()), kGrain, [&](int64_t begin, int64_t end) {
    const Scan part = scan(numbers.data() + begin, end - begin);
    const std::lock_guard lock(mutex);
    result.range.include(part.range);
    result.finite = result.finite && part.finite;
  });
  return result;
}

[[noreturn]] void refuse_not_finite(const Graph& graph, ValueId id) {
  const Node* producer = graph.producer(id);
  std::string where = "calibration: %" + graph.value(id).name;
  if (producer != nullptr) {
    where += fmt::format(" = {}", rule_of(producer->op).name);
    if (!producer->module.empty()) where += " of " + producer->module;
  }
  fail({.what = "the float model gives NaN or infinity",
        .where = std::move(where),
        .advice = "check that the checkpoint is whole and works in float"});
}

}  // namespace

RangeTable calibrate(const Graph& graph, const FloatRun& run,
                     std::span<const CalibrationBatch> batches, ThreadPool& pool) {
  if (batches.empty()) fail({.what = "calibration needs at least one text"});
  RangeTable ranges(static_cast<size_t>(graph.value_count()));
  const std::vector<bool> has_range = values_with_a_range(graph);
  const FloatObserver observe = [&](ValueId id, std::span<const float> numbers) {
    if (id < 0 || id >= graph.value_count() || !has_range[static_cast<size_t>(id)]) return;
    const Scan found = scan_all(numbers, pool);
    if (!found.finite) refuse_not_finite(graph, id);
    ranges[static_cast<size_t>(id)].include(found.range);
  };
  for (const CalibrationBatch& batch : batches) run(batch, observe);
  return ranges;
}

void BatchPacker::add(std::span<const int64_t> text) {
  while (!text.empty()) {
    const auto piece = text.first(std::min(text.size(), static_cast<size_t>(limit_)));
    text = text.subspan(piece.size());
    const bool fits = !batches_.empty() &&
                      batches_.back().tokens.size() + piece.size() <= static_cast<size_t>(limit_);
    if (fits) {
      batches_.back().starts.push_back(static_cast<int64_t>(batches_.back().tokens.size()));
    } else {
      batches_.emplace_back();
    }
    std::vector<int64_t>& tokens = batches_.back().tokens;
    tokens.insert(tokens.end(), piece.begin(), piece.end());
  }
}

}  // namespace lathe
