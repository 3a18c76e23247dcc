#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "decode/bound_graph.h"
#include "decode/graph_io.h"
#include "decode/kv_cache.h"
#include "decode/logits.h"
#include "executors/session.h"

namespace lathe {

/// How a prompt goes through the graphs.
enum class RunMode : uint8_t {
  hybrid,  ///< in chunks through the prefill graph, then token by token through the decode graph
  kv       ///< token by token through the decode graph alone
};

/// Runs the graphs of one model over a growing sequence of tokens. Knows nothing of a graph but its
/// IO contract. Used by one thread at a time.
class Runner {
 public:
  /// Takes one row of logits as real values, [vocab]; `position` is that of the token they follow.
  using TakeRow = std::function<void(int64_t position, std::span<const float> row)>;

  /// `decode` has AR = 1. `prefill` may be null, and is not used in mode kv. Throws Error for a
  /// contract that the runner cannot serve, graphs that do not belong together, or too little
  /// memory.
  Runner(std::unique_ptr<Session> decode, std::unique_ptr<Session> prefill, RunMode mode);

  int64_t context() const { return cache_->context(); }
  int64_t vocab() const { return io_.vocab; }
  /// Tokens that the cache holds.
  int64_t position() const { return cache_->length(); }
  /// Tokens for which there is room.
  int64_t remaining() const { return context() - position(); }
  /// The ids that the cache holds, [position()].
  std::span<const int64_t> history() const { return history_; }

  /// Appends `ids` to what is there. Returns the logits after the last of them. Throws Error,
  /// before anything is run, for no ids, an id outside the vocabulary, or more ids than
  /// remaining().
  LogitsRow prefill(std::span<const int64_t> ids);
  /// The same, but gives the logits after each of them to `take`, in order. The row is valid during
  /// the call.
  void prefill(std::span<const int64_t> ids, const TakeRow& take);

  /// Appends one id and returns the logits after it: prefill() of one, without allocating.
  LogitsRow step(int64_t id);

  /// Forgets all tokens but the first `length`. They are run again where a window of the cache has
  /// left some of them. Throws Error where there are fewer, or it is negative.
  void truncate(int64_t length);
  void reset() { truncate(0); }

  /// Truncates to the longest beginning that the history and `ids` have in common, but for the last
  /// of `ids`, and returns the rest of `ids`: what prefill() needs to get from here to there. All
  /// of `ids` where the cache cannot go back so far.
  std::span<const int64_t> keep_common(std::span<const int64_t> ids);

 private:
  void check(std::span<const int64_t> ids) const;
  LogitsRow feed(std::span<const int64_t> ids, const TakeRow& take);

  GraphIo io_;  // of the decode graph
  std::unique_ptr<KvCache> cache_;
  std::unique_ptr<BoundGraph> decode_;
  std::unique_ptr<BoundGraph> prefill_;  // null: none, or mode kv
  std::vector<int64_t> history_;         // room for [context]
  std::vector<float> row_;               // [vocab]; empty until rows are first taken
};

}  // namespace lathe
