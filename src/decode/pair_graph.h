#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "decode/attention_mask.h"
#include "decode/bound_graph.h"
#include "decode/pair_cache.h"
#include "decode/window_mask.h"

namespace lathe {

/// A graph that is given the past and masks, and returns the new pairs.
class PairGraph final : public BoundGraph {
 public:
  PairGraph(std::unique_ptr<Session> session, const GraphIo& io, PairCache& cache);

 private:
  int64_t past() const override { return cache_.length(); }
  void prepare() override {
    cache_.arrange(stride_);
    if (mask_) mask_->set_past(past());
    if (window_mask_) window_mask_->set_past(past());
  }
  void keep(int64_t count) noexcept override { cache_.append(new_pairs_, count); }

  PairCache& cache_;
  int64_t stride_;
  std::optional<AttentionMask> mask_;      // where not all layers slide
  std::optional<WindowMask> window_mask_;  // where some do
  NewPairs new_pairs_;
};

}  // namespace lathe
