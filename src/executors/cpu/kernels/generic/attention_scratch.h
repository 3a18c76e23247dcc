#pragma once

#include <cstddef>
#include <cstdint>

#include "executors/cpu/kernels/generic/numeric.h"

namespace lathe {
namespace {

/// Keys are packed for that many columns at a time, values for that many elements of a head.
constexpr int64_t kBlock = 64;

/// Where attention() keeps what it computes, per query vector (a head of a row), in the memory that
/// its caller gives. Every part starts on a multiple of 64 bytes.
class AttentionScratch {
 public:
  AttentionScratch(void* memory, int64_t head_dim, int64_t heads, int64_t rows, int64_t columns)
      : vectors_(heads * rows),
        padded_columns_(round_up(columns, kBlock)),
        padded_head_(round_up(head_dim, kBlock)) {
    memory_ = static_cast<uint8_t*>(memory);
    packed_ = take(padded_head_ * kBlock);
    queries_ = take(vectors_ * padded_head_ * 2);
    probabilities_ = take(vectors_ * kBlock * 2);
    scores_ = take(vectors_ * padded_columns_ * 4);
    codes_ = take(vectors_ * padded_columns_ * 2);
    sums_ = take(vectors_ * padded_head_ * 4);
    maxima_ = take(vectors_ * 4);
    minima_ = take(vectors_ * 4);
    skipped_sums_ = take(vectors_ * 8);
    contributes_ = take(vectors_);
  }

  int64_t bytes() const { return bytes_; }

  int8_t* packed() const { return reinterpret_cast<int8_t*>(packed_); }
  uint8_t* query(int64_t v) const { return queries_ + v * padded_head_ * 2; }
  uint8_t* probabilities(int64_t v) const { return probabilities_ + v * kBlock * 2; }
  /// [columns]: masked scores, then their exponentials
  float* scores(int64_t v) const { return reinterpret_cast<float*>(scores_) + v * padded_columns_; }
  /// [columns]: softmax codes
  uint16_t* codes(int64_t v) const {
    return reinterpret_cast<uint16_t*>(codes_) + v * padded_columns_;
  }
  /// [head_dim, padded to kBlock]: probabilities times values
  int32_t* sums(int64_t v) const { return reinterpret_cast<int32_t*>(sums_) + v * padded_head_; }
  float* maximum(int64_t v) const { return reinterpret_cast<float*>(maxima_) + v; }
  float* minimum(int64_t v) const { return reinterpret_cast<float*>(minima_) + v; }
  /// Of the exponentials of all columns that have no score.
  double* skipped_sum(int64_t v) const { return reinterpret_cast<double*>(skipped_sums_) + v; }
  /// Whether some probability of the piece at hand is not 0.
  bool* contributes(int64_t v) const { return reinterpret_cast<bool*>(contributes_) + v; }

 private:
  uint8_t* take(int64_t size) {
    uint8_t* part = memory_ == nullptr ? nullptr : memory_ + bytes_;
    bytes_ += round_up(size, 64);
    return part;
  }

  int64_t vectors_;
  int64_t padded_columns_;
  int64_t padded_head_;
  uint8_t* memory_ = nullptr;
  int64_t bytes_ = 0;
  uint8_t* packed_;
  uint8_t* queries_;
  uint8_t* probabilities_;
  uint8_t* scores_;
  uint8_t* codes_;
  uint8_t* sums_;
  uint8_t* maxima_;
  uint8_t* minima_;
  uint8_t* skipped_sums_;
  uint8_t* contributes_;
};

}  // namespace
}  // namespace lathe
