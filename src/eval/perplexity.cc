#include "eval/perplexity.h"

#include <algorithm>
#include <cmath>

#include "support/error.h"

namespace lathe {

void for_windows(int64_t tokens, int64_t context, int64_t stride,
                 const std::function<void(const Window&)>& visit) {
  int64_t scored = 0;  // end of the window before
  for (int64_t begin = 0; scored < tokens; begin += stride) {
    const Window window{begin, std::min(begin + context, tokens), std::max(scored, begin + 1)};
    visit(window);
    scored = window.end;
  }
}

double log_sum_exp(std::span<const float> row) {
  const double highest = *std::max_element(row.begin(), row.end());
  double sum = 0.0;
  for (const float logit : row) sum += std::exp(logit - highest);
  return highest + std::log(sum);
}

double negative_log_likelihood(std::span<const float> row, int64_t id) {
  return log_sum_exp(row) - row[static_cast<size_t>(id)];
}

Perplexity perplexity(std::span<const int64_t> ids, int64_t context, int64_t stride,
                      const RunSequence& run) {
  const auto count = static_cast<int64_t>(ids.size());
  if (count < 2) {
    fail({.what = "the text is too short for a perplexity",
          .expected = "at least 2 tokens",
          .found = std::to_string(count)});
  }
  if (context < 2 || stride < 1 || stride > context) {
    fail({.what = "the windows do not cover the text",
          .expected = "a context of at least 2 and a stride of 1 to the context",
          .found = "context " + std::to_string(context) + ", stride " + std::to_string(stride)});
  }
  double total = 0.0;
  int64_t scored = 0;
  for_windows(count, context, stride, [&](const Window& window) {
    const auto piece = ids.subspan(static_cast<size_t>(window.begin),
                                   static_cast<size_t>(window.end - window.begin));
    run(piece, [&](int64_t position, std::span<const float> row) {
      const int64_t next = window.begin + position + 1;
      if (next < window.first_scored || next >= window.end) return;
      total += negative_log_likelihood(row, ids[static_cast<size_t>(next)]);
      ++scored;
    });
  });
  return {std::exp(total / static_cast<double>(scored)), scored};
}

}  // namespace lathe
