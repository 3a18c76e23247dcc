#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

namespace lathe {

/// Work that is divided among the members of a team beforehand and evened out at its end: each does
/// the first seven eighths of its range at once, then takes small pieces, of its own range and
/// after that of others'. One that is alone does all at once. So everybody reads one run of memory,
/// and nobody waits for a slower member for longer than a piece takes. (Pieces alone would be
/// simpler, but to take one waits for all loads in flight: a quarter of a microsecond in which
/// memory is idle.)
class SharedWork {
 public:
  struct Piece {
    int64_t begin = 0;
    int64_t end = 0;
    bool empty() const { return begin >= end; }
  };

  /// The pieces that one member does, in order.
  class Pieces {
   public:
    /// The next one; empty when nothing is left.
    Piece next() {
      if (!begun_) {
        begun_ = true;
        const Piece first = work_.ranges_[static_cast<size_t>(member_)].first;
        if (!first.empty()) return first;
      }
      return work_.take(member_);
    }

   private:
    friend class SharedWork;
    Pieces(SharedWork& work, int member) : work_(work), member_(member) {}
    SharedWork& work_;
    int member_;
    bool begun_ = false;
  };

  explicit SharedWork(int members) : ranges_(static_cast<size_t>(members)) {}

  /// Before the work begins: how many units a small piece has.
  void begin(int64_t piece) { piece_ = piece; }
  /// Before the work begins: the units of a member.
  void give(int member, Piece range) {
    Range& own = ranges_[static_cast<size_t>(member)];
    const bool alone = ranges_.size() == 1;
    const int64_t split = alone ? range.end : range.end - (range.end - range.begin) / kEvenedOut;
    own.first = {range.begin, split};
    own.next.store(split, std::memory_order_relaxed);
    own.end = range.end;
  }

  /// Once for each member. Nothing here orders memory: the team does, before and after its work.
  Pieces pieces_of(int member) { return {*this, member}; }

 private:
  struct alignas(64) Range {
    Piece first;
    std::atomic<int64_t> next{0};
    int64_t end = 0;
  };

  /// The part of a range that goes in pieces is one of so many.
  static constexpr int64_t kEvenedOut = 8;

  Piece take(int member) {
    const auto own = static_cast<size_t>(member);
    for (size_t i = 0; i < ranges_.size(); ++i) {
      Range& range = ranges_[(own + i) % ranges_.size()];
      if (range.next.load(std::memory_order_relaxed) >= range.end) continue;
      const int64_t begin = range.next.fetch_add(piece_, std::memory_order_relaxed);
      if (begin < range.end) return {begin, std::min(begin + piece_, range.end)};
    }
    return {};
  }

  std::vector<Range> ranges_;
  int64_t piece_ = 1;
};

}  // namespace lathe
