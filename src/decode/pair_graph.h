#pragma once

#include <cstdint>
#include <memory>

#include "decode/attention_mask.h"
#include "decode/bound_graph.h"
#include "decode/pair_cache.h"

namespace lathe {

/// A graph that is given the past and a mask, and returns the new pairs.
class PairGraph final : public BoundGraph {
 public:
  PairGraph(std::unique_ptr<Session> session, const GraphIo& io, PairCache& cache);

 private:
  int64_t past() const override { return cache_.length(); }
  void prepare() override {
    cache_.arrange(stride_);
    mask_.set_past(past());
  }
  void keep(int64_t count) noexcept override { cache_.append(new_pairs_, count); }

  PairCache& cache_;
  int64_t stride_;
  AttentionMask mask_;
  NewPairs new_pairs_;
};

}  // namespace lathe
