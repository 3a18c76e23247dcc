#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "decode/aligned_buffer.h"
#include "decode/attention_mask.h"
#include "decode/graph_io.h"
#include "decode/kv_cache.h"
#include "decode/logits.h"
#include "executors/session.h"

namespace lathe {

/// A session with memory bound to all its inputs and outputs, reading a cache that it shares with
/// others.
class BoundGraph {
 public:
  /// The cache must outlive this. Throws Error where memory is not to be had or the session
  /// refuses.
  BoundGraph(std::unique_ptr<Session> session, const GraphIo& io, const KvCache& cache);

  int64_t tokens_per_call() const { return io_.tokens_per_call; }

  /// Runs `ids` (1 to AR of them, in the vocabulary) after the `past` tokens of the cache,
  /// past <= CL - AR. Missing ids are filled up: tokens that come later do not change a result.
  /// Without `want_logits` the graph is spared making them. Allocates at most when `want_logits`
  /// is another than in the call before.
  void run(std::span<const int64_t> ids, int64_t past, bool want_logits);

  /// Of the last run with `want_logits`; i < AR.
  LogitsRow logits(int64_t i) const;
  const NewPairs& new_pairs() const { return new_pairs_; }

 private:
  void bind_cache(const KvCache& cache);
  void bind_logits(bool wanted);

  std::unique_ptr<Session> session_;
  GraphIo io_;
  AttentionMask mask_;
  NewPairs new_pairs_;
  AlignedBuffer tokens_;     // i32 [1, AR]
  AlignedBuffer positions_;  // i32 [1, AR]
  AlignedBuffer logits_;     // [1, AR, vocab]; no memory until logits are first wanted
  bool logits_bound_ = false;
};

}  // namespace lathe
