#include "decode/bound_graph.h"

#include <string>
#include <utility>

namespace lathe {

BoundGraph::BoundGraph(std::unique_ptr<Session> session, const GraphIo& io, const KvCache& cache)
    : session_(std::move(session)),
      io_(io),
      mask_(io),
      new_pairs_(io),
      tokens_(byte_size(DType::i32, {1, io.tokens_per_call}), "the tokens"),
      positions_(byte_size(DType::i32, {1, io.tokens_per_call}), "the positions") {
  const Shape row{1, io.tokens_per_call};
  session_->bind("tokens", dense_view(DType::i32, row, tokens_.data()));
  session_->bind("position", dense_view(DType::i32, row, positions_.data()));
  session_->bind("attention_mask", mask_.view());
  bind_cache(cache);
}

void BoundGraph::bind_cache(const KvCache& cache) {
  for (size_t i = 0; i < io_.layers.size(); ++i) {
    const std::string layer = std::to_string(i);
    if (io_.has_cache_inputs) {
      session_->bind("k_cache_" + layer, cache.key_window(i, io_.cache_slots()));
      session_->bind("v_cache_" + layer, cache.value_window(i, io_.cache_slots()));
    }
    session_->bind("k_new_" + layer, new_pairs_.layers()[i].key);
    session_->bind("v_new_" + layer, new_pairs_.layers()[i].value);
  }
}

void BoundGraph::bind_logits(bool wanted) {
  if (wanted == logits_bound_) return;
  const DType dtype = io_.logits.dtype;
  const Shape shape{1, io_.tokens_per_call, io_.vocab};
  if (wanted && logits_.data() == nullptr) {
    logits_ = AlignedBuffer(byte_size(dtype, shape), "the logits");
  }
  session_->bind("logits", dense_view(dtype, shape, wanted ? logits_.data() : nullptr));
  logits_bound_ = wanted;
}

void BoundGraph::run(std::span<const int64_t> ids, int64_t past, bool want_logits) {
  // Any id does where the chunk is not full.
  constexpr int32_t kPadding = 0;
  auto* tokens = reinterpret_cast<int32_t*>(tokens_.data());
  auto* positions = reinterpret_cast<int32_t*>(positions_.data());
  for (int64_t i = 0; i < io_.tokens_per_call; ++i) {
    const auto at = static_cast<size_t>(i);
    tokens[i] = at < ids.size() ? static_cast<int32_t>(ids[at]) : kPadding;
    positions[i] = static_cast<int32_t>(past + i);
  }
  mask_.set_past(past);
  bind_logits(want_logits);
  session_->run();
}

LogitsRow BoundGraph::logits(int64_t i) const {
  const int64_t row_bytes = io_.vocab * (bits_of(io_.logits.dtype) / 8);
  return {io_.logits, logits_.data() + i * row_bytes, io_.vocab};
}

}  // namespace lathe
