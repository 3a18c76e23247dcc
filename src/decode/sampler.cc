#include "decode/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "decode/portable_exp.h"
#include "support/error.h"

namespace lathe {
namespace {

void require(bool good, const char* option, const char* expected, double found) {
  if (good) return;
  fail({.what = "option out of range",
        .where = option,
        .expected = expected,
        .found = fmt::format("{}", found)});
}

}  // namespace

Sampler::Sampler(const SamplerOptions& options, int64_t vocab)
    : options_(options),
      random_(options.seed),
      logits_(vocab),
      candidates_(vocab),
      weights_(vocab),
      is_seen_(vocab) {
  require(std::isfinite(options.temperature), "temperature", "a finite number",
          options.temperature);
  require(options.top_k >= 0, "top-k", "0 (off) or more", static_cast<double>(options.top_k));
  require(options.top_p > 0.0f && options.top_p <= 1.0f, "top-p", "more than 0, at most 1",
          options.top_p);
  require(options.min_p >= 0.0f && options.min_p <= 1.0f, "min-p", "from 0 to 1", options.min_p);
  require(std::isfinite(options.repeat_penalty) && options.repeat_penalty > 0.0f, "repeat-penalty",
          "a finite number above 0", options.repeat_penalty);
  seen_.reserve(vocab);
}

void Sampler::see_only(std::span<const int64_t> ids) {
  for (const int64_t id : seen_) is_seen_[id] = 0;
  seen_.clear();
  for (const int64_t id : ids) see(id);
}

void Sampler::see(int64_t id) {
  if (is_seen_[id] != 0) return;
  is_seen_[id] = 1;
  seen_.push_back(id);
}

int64_t Sampler::sample(const LogitsRow& logits) {
  const bool greedy = options_.temperature <= 0.0f;
  if (greedy && options_.repeat_penalty == 1.0f) return argmax(logits);
  dequantize(logits, logits_);
  penalize();
  if (greedy) {
    return argmax({{}, reinterpret_cast<const std::byte*>(logits_.data()), logits.vocab});
  }
  return draw();
}

void Sampler::penalize() {
  for (const int64_t id : seen_) {
    float& logit = logits_[id];
    logit = logit > 0.0f ? logit / options_.repeat_penalty : logit * options_.repeat_penalty;
  }
  // A float graph can give infinities and NaN, which have no order or no difference.
  constexpr float kLargest = std::numeric_limits<float>::max();
  for (float& logit : logits_) {
    logit = logit >= -kLargest ? std::min(logit, kLargest) : -kLargest;
  }
}

int64_t Sampler::draw() {
  std::iota(candidates_.begin(), candidates_.end(), 0);
  std::span<int32_t> kept = keep_top_k(candidates_);

  float largest = logits_[kept.front()];
  for (const int32_t id : kept) largest = std::max(largest, logits_[id]);
  const auto temperature = static_cast<double>(options_.temperature);
  const auto weigh = [&](size_t id) {
    const double below = static_cast<double>(logits_[id]) - static_cast<double>(largest);
    weights_[id] = portable_exp(below / temperature);
  };
  if (kept.size() == logits_.size()) {
    // All of them, in order: a loop that vectorizes.
    for (size_t id = 0; id < logits_.size(); ++id) weigh(id);
  } else {
    for (const int32_t id : kept) weigh(static_cast<size_t>(id));
  }
  kept = keep_min_p(keep_top_p(kept));

  double left = random_.uniform() * total_weight(kept);
  for (const int32_t id : kept) {
    left -= weights_[id];
    if (left < 0.0) return id;
  }
  return kept.back();
}

std::span<int32_t> Sampler::keep_top_k(std::span<int32_t> kept) const {
  const auto k = static_cast<size_t>(options_.top_k);
  if (k == 0 || k >= kept.size()) return kept;
  const auto first = [this](int32_t a, int32_t b) { return better(a, b); };
  std::nth_element(kept.begin(), kept.begin() + k, kept.end(), first);
  // nth_element leaves an order that depends on the standard library, and the draw depends on the
  // order.
  std::sort(kept.begin(), kept.begin() + k, first);
  return kept.first(k);
}

std::span<int32_t> Sampler::keep_top_p(std::span<int32_t> kept) const {
  if (options_.top_p >= 1.0f) return kept;
  const double enough = static_cast<double>(options_.top_p) * total_weight(kept);
  // Mostly few ids reach top_p: taking them off a heap saves sorting the whole vocabulary.
  const auto worse = [this](int32_t a, int32_t b) { return better(b, a); };
  std::make_heap(kept.begin(), kept.end(), worse);
  size_t rest = kept.size();
  double mass = 0.0;
  do {
    std::pop_heap(kept.begin(), kept.begin() + rest, worse);
    mass += weights_[kept[--rest]];
  } while (rest > 0 && mass < enough);
  return kept.subspan(rest);
}

std::span<int32_t> Sampler::keep_min_p(std::span<int32_t> kept) const {
  const auto least = static_cast<double>(options_.min_p);
  if (least == 0.0) return kept;
  const auto end =
      std::remove_if(kept.begin(), kept.end(), [&](int32_t id) { return weights_[id] < least; });
  return kept.first(static_cast<size_t>(end - kept.begin()));
}

double Sampler::total_weight(std::span<const int32_t> kept) const {
  double total = 0.0;
  for (const int32_t id : kept) total += weights_[id];
  return total;
}

bool Sampler::better(int32_t a, int32_t b) const {
  if (logits_[a] != logits_[b]) return logits_[a] > logits_[b];
  return a < b;
}

}  // namespace lathe
