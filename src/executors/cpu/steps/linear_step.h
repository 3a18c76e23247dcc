#pragma once

#include <memory>
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
    int32_t zero_point = 0;
    bool operator==(const Input&) const = default;
  };
  struct Output {
    BufferId weights = -1;                 ///< packed, [channels, k]
    const int32_t* weight_sums = nullptr;  ///< [channels]
    const int32_t* bias = nullptr;         ///< [channels], or null
    std::vector<double> multiplier;        ///< [channels]
    int64_t channels = 0;
    int32_t zero_point = 0;
    int32_t largest = 65535;  ///< code
    BufferId y = -1;          ///< u16 [rows, channels]
  };

  /// `prepared`: scratch of rows * prepared_bytes(k).
  LinearStep(Input input, BufferId prepared) : input_(input), prepared_(prepared) {}

  const Input& input() const { return input_; }
  BufferId prepared() const { return prepared_; }
  void add(Output output);

  void run(const Frame& frame) const noexcept override;
  const char* name() const override { return "linear"; }

 private:
  void multiply(const Frame& frame, int64_t first_block, int64_t last_block) const;

  Input input_;
  BufferId prepared_;
  std::vector<Output> outputs_;
  int64_t blocks_ = 0;  // groups of 16 channels in all outputs
};

}  // namespace lathe
