#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "decode/bound_graph.h"
#include "decode/whole_cache.h"

namespace lathe {

/// A graph that is given whole caches, masks by position itself, and returns whole caches.
class WholeGraph final : public BoundGraph {
 public:
  WholeGraph(std::unique_ptr<Session> session, const GraphIo& io, WholeCache& cache);

 private:
  int64_t past() const override { return cache_.length(); }
  void prepare() override;
  void keep(int64_t count) noexcept override { cache_.turn(count); }

  /// Names of a layer's tensors: made once, as a step allocates nothing.
  struct LayerNames {
    std::string keys_in;
    std::string values_in;
    std::string keys_out;
    std::string values_out;
  };

  WholeCache& cache_;
  std::vector<LayerNames> names_;
};

}  // namespace lathe
