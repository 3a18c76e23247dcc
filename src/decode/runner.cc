#include "decode/runner.h"

#include <algorithm>
#include <string>
#include <utility>

#include "support/error.h"

namespace lathe {

namespace {

GraphIo read_decode_io(const IoContract& contract) {
  GraphIo io = read_graph_io(contract);
  if (io.tokens_per_call != 1) {
    fail({.what = "decode graph takes the wrong number of tokens per call",
          .expected = "1",
          .found = std::to_string(io.tokens_per_call)});
  }
  return io;
}

}  // namespace

Runner::Runner(std::unique_ptr<Session> decode, std::unique_ptr<Session> prefill, RunMode mode)
    : io_(read_decode_io(decode->io())),
      cache_(KvCache::make(io_)),
      decode_(cache_->bind(std::move(decode), io_)) {
  if (prefill != nullptr) {
    const GraphIo prefill_io = read_graph_io(prefill->io());
    check_same_model(io_, prefill_io);
    if (mode == RunMode::hybrid) prefill_ = cache_->bind(std::move(prefill), prefill_io);
  }
  history_.reserve(static_cast<size_t>(io_.context));
}

LogitsRow Runner::prefill(std::span<const int64_t> ids) { return feed(ids, nullptr); }

void Runner::prefill(std::span<const int64_t> ids, const TakeRow& take) {
  row_.resize(static_cast<size_t>(vocab()));
  feed(ids, take);
}

LogitsRow Runner::step(int64_t id) { return feed({&id, 1}, nullptr); }

LogitsRow Runner::feed(std::span<const int64_t> ids, const TakeRow& take) {
  check(ids);
  for (;;) {
    // The prefill graph needs free slots for a whole chunk, filled up or not. A single token is
    // quicker through the decode graph.
    const bool chunk =
        prefill_ && ids.size() > 1 && position() + prefill_->tokens_per_call() <= context();
    BoundGraph& graph = chunk ? *prefill_ : *decode_;
    const auto width = static_cast<size_t>(graph.tokens_per_call());
    const std::span<const int64_t> now = ids.first(std::min(ids.size(), width));
    const bool last = now.size() == ids.size();
    const auto count = static_cast<int64_t>(now.size());
    const int64_t first = position();

    using Want = BoundGraph::Want;
    graph.run(now, take != nullptr ? Want::all_logits : last ? Want::last_logits : Want::no_logits);
    history_.insert(history_.end(), now.begin(), now.end());
    for (int64_t i = 0; take != nullptr && i < count; ++i) {
      dequantize(graph.logits(i), row_);
      take(first + i, row_);
    }
    if (last) return graph.logits(count - 1);
    ids = ids.subspan(now.size());
  }
}

void Runner::check(std::span<const int64_t> ids) const {
  if (ids.empty()) {
    fail({.what = "prompt has no tokens",
          .advice = "give some text, or use a tokenizer that adds a first token"});
  }
  const auto count = static_cast<int64_t>(ids.size());
  if (count > remaining()) {
    const std::string held = position() == 0
                                 ? std::string()
                                 : " after " + std::to_string(position()) + " tokens before it";
    fail({.what = "prompt is longer than the context",
          .expected = "at most " + std::to_string(context()) + " tokens",
          .found = std::to_string(count) + held,
          .advice = "shorten the prompt or compile the model with a larger --context"});
  }
  for (const int64_t id : ids) {
    if (id >= 0 && id < vocab()) continue;
    fail({.what = "token id is not in the vocabulary",
          .expected = "0 to " + std::to_string(vocab() - 1),
          .found = std::to_string(id)});
  }
}

void Runner::truncate(int64_t length) {
  if (length < 0 || length > position()) {
    fail({.what = "cannot go back to a token that is not there",
          .expected = "0 to " + std::to_string(position()),
          .found = std::to_string(length)});
  }
  if (cache_->can_truncate(length)) {
    cache_->truncate(length);
    history_.resize(static_cast<size_t>(length));
    return;
  }
  const std::vector<int64_t> kept(history_.begin(), history_.begin() + length);
  reset();
  feed(kept, nullptr);
}

std::span<const int64_t> Runner::keep_common(std::span<const int64_t> ids) {
  const auto same = std::mismatch(ids.begin(), ids.end(), history_.begin(), history_.end());
  auto common = static_cast<size_t>(same.first - ids.begin());
  // The last id is always run, as its logits are what the caller is after.
  if (common == ids.size() && common > 0) --common;
  // What would have to be run again anyway is run with the rest.
  if (!cache_->can_truncate(static_cast<int64_t>(common))) common = 0;
  truncate(static_cast<int64_t>(common));
  return ids.subspan(common);
}

}  // namespace lathe
