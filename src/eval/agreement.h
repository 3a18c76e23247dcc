#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "eval/perplexity.h"

namespace lathe {

/// How close one model's logits are to those of another, over all positions.
struct Agreement {
  double sqnr_db = 0.0;  ///< 10 log10 of reference power over error power; infinity for no error
  double kl_mean = 0.0;  ///< of KL(reference || model) of each position, in nats
  double kl_p99 = 0.0;   ///< the 99th percentile of it
  double top1_agreement = 0.0;  ///< share of positions with the same largest logit
  int64_t positions = 0;
};

/// Collects agreement row by row.
class AgreementMeter {
 public:
  /// Two rows of logits of the same position.
  void add(std::span<const float> reference, std::span<const float> row);
  Agreement result() const;

 private:
  double signal_ = 0.0;
  double noise_ = 0.0;
  int64_t same_ = 0;
  std::vector<double> divergences_;  // one a position
};

/// Compares over the windows of for_windows(), at the positions whose next token perplexity()
/// scores.
Agreement compare(std::span<const int64_t> ids, int64_t context, int64_t stride,
                  const RunSequence& reference, const RunSequence& model);

}  // namespace lathe
