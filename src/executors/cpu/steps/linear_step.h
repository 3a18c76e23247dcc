#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "executors/cpu/frame.h"

namespace lathe {

/// One or several linear operators over the same input, as one pass over their weights: query, key
/// and value projections; gate and up.
class LinearStep final : public Step {
 public:
  struct Input {
    BufferId buffer = -1;
    int64_t offset = 0;      ///< elements
    int64_t row_stride = 0;  ///< elements
    int64_t rows = 0;
    int64_t k = 0;
    bool bytes = false;  ///< codes of u8, not u16
    int32_t zero_point = 0;
    bool operator==(const Input&) const = default;
  };
  /// How 4-bit weights lie; see Int4Weights.
  struct Int4Layout {
    int64_t group_bytes = 0;
    int64_t factors = 0;
    int64_t block = 0;
  };
  struct Output {
    BufferId weights = -1;                 ///< packed, [channels, k]
    std::optional<Int4Layout> int4;        ///< none: they have 8 bits
    const int32_t* weight_sums = nullptr;  ///< [channels]
    const int32_t* bias = nullptr;         ///< [channels], or null
    std::vector<double> multiplier;        ///< [channels]
    int64_t channels = 0;
    int32_t zero_point = 0;
    int32_t largest = 65535;  ///< code
    BufferId y = -1;          ///< u16 [rows, channels]
  };

  /// `prepared`: scratch of rows * prepared_bytes(k). `expanded`: scratch of int4_scratch_bytes(k)
  /// for each thread.
  LinearStep(Input input, BufferId prepared, BufferId expanded)
      : input_(input), prepared_(prepared), expanded_(expanded) {}

  const Input& input() const { return input_; }
  void add(Output output);

  void run(const Frame& frame) const noexcept override;
  const char* name() const override { return "linear"; }

 private:
  void prepare(const Frame& frame, const RowRange& rows) const;
  /// Where the share of a member begins, in groups of 16 channels of all outputs, by bytes of
  /// weights.
  int64_t first_group(int member, int team) const;
  /// `member`: whose scratch memory to use.
  void multiply(const Frame& frame, const RowRange& rows, int member, int64_t first_group,
                int64_t last_group) const;
  int64_t group_bytes(const Output& output) const;

  Input input_;
  BufferId prepared_;
  BufferId expanded_;
  std::vector<Output> outputs_;
  int64_t groups_ = 0;        // of 16 channels, in all outputs
  int64_t weight_bytes_ = 0;  // in all of them
};

}  // namespace lathe
