#include "decode/whole_graph.h"

#include <utility>

namespace lathe {

WholeGraph::WholeGraph(std::unique_ptr<Session> session, const GraphIo& io, WholeCache& cache)
    : BoundGraph(std::move(session), io), cache_(cache) {
  for (size_t i = 0; i < io.layers.size(); ++i) {
    const std::string out = whole_cache_output(i);
    const std::string in = whole_cache_input(i);
    names_.push_back({in + ".keys", in + ".values", out + ".keys", out + ".values"});
  }
  // Once at set-up: a session that refuses does so now.
  prepare();
}

void WholeGraph::prepare() {
  for (size_t i = 0; i < names_.size(); ++i) {
    session().bind(names_[i].keys_in, cache_.held()[i].keys);
    session().bind(names_[i].values_in, cache_.held()[i].values);
    session().bind(names_[i].keys_out, cache_.returned()[i].keys);
    session().bind(names_[i].values_out, cache_.returned()[i].values);
  }
}

}  // namespace lathe
