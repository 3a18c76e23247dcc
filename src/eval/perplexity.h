#pragma once

#include <cstdint>
#include <functional>
#include <span>

namespace lathe {

/// Takes the logits after the token at `position` of a sequence: [vocab].
using TakeLogits = std::function<void(int64_t position, std::span<const float> row)>;
/// Runs a sequence from position 0 and gives the logits after each of its tokens, in order.
using RunSequence = std::function<void(std::span<const int64_t> ids, const TakeLogits& take)>;

/// One piece of a long text that is run by itself: ids [begin, end), of which [first_scored, end)
/// are scored there.
struct Window {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t first_scored = 0;
};

/// Calls visit with windows of `context` tokens that advance by `stride` and score every token but
/// the first exactly once: the first window all of its own but the first, each later one those
/// that no window before it had. The last is the first that reaches the end. With `stride` equal to
/// `context` windows do not overlap, and the first token of each has nothing before it to be scored
/// by.
void for_windows(int64_t tokens, int64_t context, int64_t stride,
                 const std::function<void(const Window&)>& visit);

/// ln of the sum of exp of a row of logits, in float64.
double log_sum_exp(std::span<const float> row);

/// -ln of the probability that softmax(row) gives to `id`, in float64.
double negative_log_likelihood(std::span<const float> row, int64_t id);

struct Perplexity {
  double perplexity = 0.0;  ///< exp of the mean negative log likelihood
  int64_t tokens = 0;       ///< scored
};

/// The perplexity of a text, given as ids. Throws Error for a text of fewer than two tokens or
/// sizes that make no windows (1 <= stride <= context).
Perplexity perplexity(std::span<const int64_t> ids, int64_t context, int64_t stride,
                      const RunSequence& run);

}  // namespace lathe
