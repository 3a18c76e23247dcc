#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "decode/aligned_buffer.h"
#include "decode/graph_io.h"
#include "decode/logits.h"
#include "executors/session.h"

namespace lathe {

/// A session with memory bound to all its inputs and outputs, working on a cache that it shares
/// with others (KvCache::bind makes it).
class BoundGraph {
 public:
  virtual ~BoundGraph() = default;
  BoundGraph(const BoundGraph&) = delete;
  BoundGraph& operator=(const BoundGraph&) = delete;

  int64_t tokens_per_call() const { return io_.tokens_per_call; }

  /// Runs `ids` (1 to AR of them, in the vocabulary) after the tokens of the cache, of which there
  /// are at most CL - AR, and adds them to it. Missing ids are filled up: tokens that come later do
  /// not change a result. Allocates at most when it is another choice between none and some logits
  /// than in the call before.
  enum class Want : uint8_t { no_logits, last_logits, all_logits };
  void run(std::span<const int64_t> ids, Want want);

  /// Of token i of the last run, where they were wanted.
  LogitsRow logits(int64_t i) const;

 protected:
  /// Binds ids and positions.
  BoundGraph(std::unique_ptr<Session> session, const GraphIo& io);

  Session& session() { return *session_; }

 private:
  /// Tokens that the cache holds.
  virtual int64_t past() const = 0;
  /// Makes the other inputs ready for a call after the tokens of the cache.
  virtual void prepare() = 0;
  /// Adds the first `count` tokens of the last call to the cache.
  virtual void keep(int64_t count) noexcept = 0;

  void bind_logits(bool wanted);

  std::unique_ptr<Session> session_;
  GraphIo io_;
  AlignedBuffer ids_;        // [AR]
  AlignedBuffer positions_;  // [AR]
  AlignedBuffer logits_;     // [1, AR, vocab]; no memory until logits are first wanted
  bool logits_bound_ = false;
};

}  // namespace lathe
