#include "decode/bound_graph.h"

#include <utility>

namespace lathe {
namespace {

/// Calls job with a 0 of the C++ type of `dtype`, one of those that count tokens.
template <typename Job>
void with_index(DType dtype, const Job& job) {
  dtype == DType::i64 ? job(int64_t{0}) : job(int32_t{0});
}

AlignedBuffer bind_tokens(Session& session, const TokenInput& input, const char* what) {
  AlignedBuffer buffer(byte_size(input.dtype, input.shape), what);
  session.bind(input.name, dense_view(input.dtype, input.shape, buffer.data()));
  return buffer;
}

}  // namespace

BoundGraph::BoundGraph(std::unique_ptr<Session> session, const GraphIo& io)
    : session_(std::move(session)),
      io_(io),
      ids_(bind_tokens(*session_, io_.ids, "the tokens")),
      positions_(bind_tokens(*session_, io_.positions, "the positions")) {}

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

void BoundGraph::run(std::span<const int64_t> ids, Want want) {
  // Any id does where the chunk is not full.
  constexpr int64_t kPadding = 0;
  const int64_t first = past();
  with_index(io_.ids.dtype, [&](auto zero) {
    using Index = decltype(zero);
    auto* tokens = reinterpret_cast<Index*>(ids_.data());
    auto* positions = reinterpret_cast<Index*>(positions_.data());
    for (int64_t i = 0; i < io_.tokens_per_call; ++i) {
      const auto at = static_cast<size_t>(i);
      tokens[i] = static_cast<Index>(at < ids.size() ? ids[at] : kPadding);
      positions[i] = static_cast<Index>(first + i);
    }
  });
  prepare();
  bind_logits(want != Want::no_logits);
  const auto count = static_cast<int64_t>(ids.size());
  session_->want(count, want == Want::all_logits ? 0 : count - 1);
  session_->run();
  keep(count);
}

LogitsRow BoundGraph::logits(int64_t i) const {
  const int64_t row_bytes = io_.vocab * (bits_of(io_.logits.dtype) / 8);
  return {io_.logits, logits_.data() + i * row_bytes, io_.vocab};
}

}  // namespace lathe
