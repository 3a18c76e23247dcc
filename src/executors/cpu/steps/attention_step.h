#pragma once

#include "executors/cpu/frame.h"
#include "executors/cpu/steps/mask_columns.h"

namespace lathe {

/// Grouped-query attention over the u8 cache and the new tokens of this call.
class AttentionStep final : public Step {
 public:
  struct Spec {
    int64_t heads = 0;     ///< H
    int64_t kv_heads = 0;  ///< Hkv
    int64_t rows = 0;      ///< AR
    int64_t head_dim = 0;  ///< D
    int64_t context = 0;   ///< CL
    BufferId query = -1;   ///< u16, head h of row r at offset + h * head_stride + r * row_stride
    int64_t query_offset = 0;
    int64_t query_head_stride = 0;
    int64_t query_row_stride = 0;
    BufferId past_keys = -1;    ///< input u8 [1, Hkv, D, CL - AR]
    BufferId past_values = -1;  ///< input u8 [1, Hkv, CL - AR, D]
    BufferId new_keys = -1;     ///< u8 [1, Hkv, D, AR], dense
    int64_t new_keys_offset = 0;
    BufferId new_values = -1;  ///< u8 [1, Hkv, AR, D], dense
    int64_t new_values_offset = 0;
    BufferId mask = -1;     ///< input u16 [1, 1, AR, CL]
    BufferId columns = -1;  ///< MaskColumns of that mask
    BufferId out = -1;      ///< u16 [AR, H, D], dense
    BufferId scratch = -1;  ///< threads * scratch_bytes()
    AttentionEncodings encodings;
    size_t scratch_bytes() const;  ///< of one thread
  };
  explicit AttentionStep(Spec spec) : spec_(spec) {}

  void run(const Frame& frame) const noexcept override;
  const char* name() const override { return "attention"; }

 private:
  /// Work units [begin, end): a unit is one query head of one block of rows.
  void attend(const Frame& frame, const MaskColumns& columns, int member, int64_t begin,
              int64_t end) const;

  Spec spec_;
};

}  // namespace lathe
