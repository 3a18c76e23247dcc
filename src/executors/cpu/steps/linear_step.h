#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "executors/cpu/frame.h"
#include "executors/cpu/steps/elementwise_step.h"
#include "executors/cpu/steps/row_step.h"

namespace lathe {

/// One or several linear operators over the same input, as one pass over their weights: query, key
/// and value projections; gate and up. Steps before and behind it that fit become part of it: rows
/// of the input are made where they are read, results go on while they are in the cache.
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

  /// `prepared`: scratch of prepared_bytes(k) for each row or, where there is one only, for each
  /// thread. `expanded`: scratch of int4_scratch_bytes(k) for each thread.
  LinearStep(Input input, BufferId prepared, BufferId expanded)
      : input_(input), prepared_(prepared), expanded_(expanded) {}

  const Input& input() const { return input_; }
  void add(Output output);

  /// Whether `before` makes the rows of the input as they lie.
  bool can_begin_with(const RowStep& before) const;
  /// Such a step becomes part of this one, and what it would have written is not in memory any
  /// more. `codes`: scratch of row_codes_bytes(k) for each thread.
  void begin_with(std::unique_ptr<RowStep> before, BufferId codes);
  static int64_t row_codes_bytes(int64_t k);

  /// Whether `behind` goes on with results of this step, element by element.
  bool can_end_with(const ElementwiseStep& behind) const;
  /// Such a step becomes part of this one. Both results are in memory.
  void end_with(std::unique_ptr<ElementwiseStep> behind);

  void run(const Frame& frame) const noexcept override;
  const char* name() const override { return name_.c_str(); }

 private:
  /// Outputs of as many channels that are divided among threads alike, and what goes on with them.
  struct Part {
    std::vector<Output> outputs;
    std::vector<std::unique_ptr<ElementwiseStep>> behind;
    int64_t channels = 0;
    int64_t groups = 0;       // of 16 channels
    int64_t group_bytes = 0;  // weights of one, of all outputs
    bool gives(BufferId buffer) const;
  };
  /// Which rows to compute, and where they are prepared: row i of them at i * prepared_bytes(k).
  struct Prepared {
    RowRange rows;
    const uint8_t* bytes = nullptr;
  };

  /// The number of the part that gives an operand, or of none.
  size_t part_of(const ElementwiseStep::Operand& operand) const;
  void prepare_row(const Frame& frame, int64_t row, int member, uint8_t* prepared) const;
  /// Where the share of a member begins, in groups of 16 channels of all parts, by bytes of
  /// weights.
  int64_t first_group(int member, int team) const;
  /// How many groups a thread takes at a time where work is evened out.
  int64_t groups_a_piece() const;
  /// `member`: whose scratch memory to use.
  void multiply(const Frame& frame, const Prepared& x, int member, int64_t first_group,
                int64_t last_group) const;
  void multiply(const Frame& frame, const Prepared& x, int member, const Output& output,
                int64_t first_channel, int64_t last_channel) const;

  Input input_;
  BufferId prepared_;
  BufferId expanded_;
  std::unique_ptr<RowStep> before_;
  BufferId row_codes_ = -1;
  std::vector<Part> parts_;
  int64_t groups_ = 0;        // of all parts
  int64_t weight_bytes_ = 0;  // of all parts
  std::string name_ = "linear";
};

}  // namespace lathe
