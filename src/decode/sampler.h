#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "decode/logits.h"
#include "support/random.h"

namespace lathe {

/// How the next token is chosen. The steps come in this order, as in transformers; each works on
/// what the one before has left.
struct SamplerOptions {
  /// Logits of ids seen before, in prompt or output, are divided by it where positive and
  /// multiplied where negative; once, however often an id was seen. 1: off.
  float repeat_penalty = 1.0f;
  /// Divides the logits. 0 or less: always the largest logit, and no further step counts.
  float temperature = 0.0f;
  /// Keeps the k largest, of equal ones those with the lowest ids. 0: off.
  int64_t top_k = 0;
  /// Keeps the fewest most probable tokens that together reach this probability. 1: off.
  float top_p = 1.0f;
  /// Keeps the tokens with at least this share of the largest probability. 0: off.
  float min_p = 0.0f;
  uint64_t seed = 0;
};

/// Draws token ids from logits. The same seed and the same logits give the same ids on every
/// machine. Allocates only when it is made.
class Sampler {
 public:
  /// Throws Error for an option out of its range.
  Sampler(const SamplerOptions& options, int64_t vocab);

  /// Sets the ids that count as seen to `ids`, each in [0, vocab).
  void see_only(std::span<const int64_t> ids);
  void see(int64_t id);

  /// Chooses the next id. The row has the vocabulary that the sampler was made for. Does not see()
  /// it.
  int64_t sample(const LogitsRow& logits);

 private:
  void penalize();
  int64_t draw();
  /// The steps that narrow the choice. Each takes and gives the ids kept, a part of candidates_.
  std::span<int32_t> keep_top_k(std::span<int32_t> kept) const;
  std::span<int32_t> keep_top_p(std::span<int32_t> kept) const;
  std::span<int32_t> keep_min_p(std::span<int32_t> kept) const;
  double total_weight(std::span<const int32_t> kept) const;
  bool better(int32_t a, int32_t b) const;

  SamplerOptions options_;
  SplitMix64 random_;
  std::vector<float> logits_;        // [vocab], dequantized
  std::vector<int32_t> candidates_;  // [vocab], ids
  std::vector<double> weights_;      // [vocab], probability over the largest one; of kept ids only
  std::vector<uint8_t> is_seen_;     // [vocab]
  std::vector<int64_t> seen_;        // each id once
};

}  // namespace lathe
