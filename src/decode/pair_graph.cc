#include "decode/pair_graph.h"

#include <string>
#include <utility>

namespace lathe {

PairGraph::PairGraph(std::unique_ptr<Session> session, const GraphIo& io, PairCache& cache)
    : BoundGraph(std::move(session), io),
      cache_(cache),
      stride_(PairCache::stride_for(this->session(), io)),
      new_pairs_(io) {
  if (io.mask) {
    mask_.emplace(io);
    this->session().bind("attention_mask", mask_->view());
  }
  if (io.window_mask) {
    window_mask_.emplace(io);
    this->session().bind("window_attention_mask", window_mask_->view());
  }
  for (size_t i = 0; i < io.layers.size(); ++i) {
    const std::string layer = std::to_string(i);
    if (io.has_cache_inputs) {
      this->session().bind("k_cache_" + layer, cache.key_window(i, io.slots[i], stride_));
      this->session().bind("v_cache_" + layer, cache.value_window(i, io.slots[i], stride_));
    }
    this->session().bind("k_new_" + layer, new_pairs_.layers()[i].key);
    this->session().bind("v_new_" + layer, new_pairs_.layers()[i].value);
  }
}

}  // namespace lathe
