#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "quant/range.h"
#include "support/thread_pool.h"

namespace lathe {

/// What a float graph tells while it runs: numbers of one value. To be called for every float input
/// and everything that a node computes (values that are only moved may be left out), from one
/// thread. A large value may come in pieces.
using FloatObserver = std::function<void(ValueId, std::span<const float>)>;

/// What one forward pass of calibration reads: one text, or several side by side.
struct CalibrationBatch {
  std::vector<int64_t> tokens;
  std::vector<int64_t> starts = {0};  ///< index of the first token of each text; ascending from 0
};

/// Runs the float `calibrate` graph once over a batch: in each text positions from 0 and a causal
/// mask, no text sees another, no past. The graph is as long as the batch, so no number comes from
/// padding.
using FloatRun = std::function<void(const CalibrationBatch&, const FloatObserver&)>;

/// Ranges by value id; empty for a value that was never seen.
using RangeTable = std::vector<ValueRange>;

/// Smallest and largest number of every value that has a range of its own (values that are moved or
/// in [0, 1] have not), over all batches. `graph` is a calibrate graph of any length: it gives
/// the names. Throws Error naming node and module where a number is NaN or infinite, or where there
/// is no batch.
RangeTable calibrate(const Graph& graph, const FloatRun& run,
                     std::span<const CalibrationBatch> batches, ThreadPool& pool);

/// Makes batches of at most `limit` tokens (at least 1) of texts that follow each other, whole
/// where they fit.
class BatchPacker {
 public:
  explicit BatchPacker(int64_t limit) : limit_(limit) {}
  /// A text longer than `limit` is cut.
  void add(std::span<const int64_t> text);
  std::vector<CalibrationBatch> take() { return std::move(batches_); }

 private:
  int64_t limit_;
  std::vector<CalibrationBatch> batches_;
};

}  // namespace lathe
