#include "eval/agreement.h"

#include <algorithm>
#include <cmath>

#include "support/decibels.h"

namespace lathe {

void AgreementMeter::add(std::span<const float> reference, std::span<const float> row) {
  const double reference_sum = log_sum_exp(reference);
  const double row_sum = log_sum_exp(row);
  double divergence = 0.0;
  for (size_t i = 0; i < reference.size(); ++i) {
    const double expected = reference[i];
    const double found = row[i];
    signal_ += expected * expected;
    noise_ += (expected - found) * (expected - found);
    const double log_probability = expected - reference_sum;
    divergence += std::exp(log_probability) * (log_probability - (found - row_sum));
  }
  divergences_.push_back(divergence);
  const auto largest = [](std::span<const float> logits) {
    return std::max_element(logits.begin(), logits.end()) - logits.begin();
  };
  if (largest(reference) == largest(row)) ++same_;
}

Agreement AgreementMeter::result() const {
  Agreement result;
  result.positions = static_cast<int64_t>(divergences_.size());
  if (divergences_.empty()) return result;
  const auto count = static_cast<double>(divergences_.size());
  result.sqnr_db = decibels(signal_, noise_);
  result.top1_agreement = static_cast<double>(same_) / count;
  std::vector<double> sorted = divergences_;
  std::sort(sorted.begin(), sorted.end());
  for (const double divergence : sorted) result.kl_mean += divergence / count;
  result.kl_p99 = sorted[static_cast<size_t>(std::ceil(0.99 * count)) - 1];
  return result;
}

Agreement compare(std::span<const int64_t> ids, int64_t context, int64_t stride,
                  const RunSequence& reference, const RunSequence& model) {
  AgreementMeter meter;
  for_windows(static_cast<int64_t>(ids.size()), context, stride, [&](const Window& window) {
    const auto piece = ids.subspan(static_cast<size_t>(window.begin),
                                   static_cast<size_t>(window.end - window.begin));
    // Logits count where the token after them is scored.
    const int64_t first = window.first_scored - 1 - window.begin;
    const int64_t end = window.end - 1 - window.begin;
    std::vector<std::vector<float>> expected;
    reference(piece, [&](int64_t position, std::span<const float> row) {
      if (position >= first && position < end) expected.emplace_back(row.begin(), row.end());
    });
    model(piece, [&](int64_t position, std::span<const float> row) {
      if (position < first || position >= end) return;
      meter.add(expected[static_cast<size_t>(position - first)], row);
    });
  });
  return meter.result();
}

}  // namespace lathe
