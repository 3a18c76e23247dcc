#pragma once

#include <cstdint>
#include <memory>

#include "decode/bound_graph.h"
#include "decode/graph_io.h"
#include "executors/session.h"

namespace lathe {

/// The keys and values of all tokens so far, one slot a token, allocated once. Graphs of any AR
/// work on the same memory.
class KvCache {
 public:
  /// The cache of graphs whose contract has the style of `io`. Throws Error where the memory is not
  /// to be had.
  static std::unique_ptr<KvCache> make(const GraphIo& io);

  virtual ~KvCache() = default;
  KvCache(const KvCache&) = delete;
  KvCache& operator=(const KvCache&) = delete;

  int64_t context() const { return context_; }
  /// Tokens run so far. All of them are held, but that layers with a window may hold the last ones
  /// only.
  int64_t length() const { return length_; }

  /// Whether truncate(length) is possible: a window that has moved on cannot go back.
  virtual bool can_truncate(int64_t length) const noexcept = 0;
  /// Forgets all but the first `length` tokens. length <= length(), can_truncate(length).
  virtual void truncate(int64_t length) noexcept = 0;

  /// Binds memory to all inputs and outputs of a graph that reads this cache and adds to it. The
  /// cache must outlive it. `io` is the session's, and fits the one that the cache was made for
  /// (check_same_model). Throws Error where memory is not to be had or the session refuses.
  virtual std::unique_ptr<BoundGraph> bind(std::unique_ptr<Session> session, const GraphIo& io) = 0;

 protected:
  explicit KvCache(int64_t context) : context_(context) {}
  void set_length(int64_t length) noexcept { length_ = length; }

 private:
  int64_t context_;
  int64_t length_ = 0;
};

}  // namespace lathe
