#include "executors/kernels/kernel_test.h"

namespace lathe {
namespace {

struct MatmulShape {
  int64_t heads, rows, depth, columns;
};

/// One matrix b for all heads, and rows that are part of longer ones.
template <typename Code>
void expect_exact(const Kernels& kernels, const MatmulShape& s, bool b_by_column, int b_zero_point,
                  const std::vector<Code>& b, const std::vector<uint16_t>& a) {
  MatmulArgs args;
  args.heads = s.heads;
  args.rows = s.rows;
  args.depth = s.depth;
  args.columns = s.columns;
  args.a = a.data();
  args.a_row_stride = s.depth + 3;
  args.a_head_stride = s.rows * args.a_row_stride;
  if constexpr (sizeof(Code) == 1) {
    args.b_bytes = b.data();
  } else {
    args.b = b.data();
  }
  args.b_stride = (b_by_column ? s.depth : s.columns) + 2;
  args.b_by_column = b_by_column;
  args.a_zero_point = 30000;
  args.b_zero_point = b_zero_point;
  args.y_zero_point = 31000;
  args.multiplier = sizeof(Code) == 1 ? 1e-4 : 3e-7;
  std::vector<uint16_t> y(static_cast<size_t>(s.heads * s.rows * s.columns));
  args.y = y.data();
  args.y_row_stride = s.heads * s.columns;  // [rows, heads, columns]
  args.y_head_stride = s.columns;
  Aligned<double> scratch(static_cast<size_t>(matmul_scratch_numbers(args)));
  args.scratch = scratch.data();
  kernels.matmul(args);
  for (int64_t head = 0; head < s.heads; ++head) {
    for (int64_t row = 0; row < s.rows; ++row) {
      for (int64_t n = 0; n < s.columns; ++n) {
        int64_t sum = 0;
        for (int64_t k = 0; k < s.depth; ++k) {
          const int64_t left =
              a[static_cast<size_t>(head * args.a_head_stride + row * args.a_row_stride + k)] -
              args.a_zero_point;
          const int64_t at = b_by_column ? n * args.b_stride + k : k * args.b_stride + n;
          sum += left * (b[static_cast<size_t>(at)] - b_zero_point);
        }
        ASSERT_EQ(y[static_cast<size_t>((row * s.heads + head) * s.columns + n)],
                  reference_rescale(sum, args.multiplier, args.y_zero_point))
            << "head " << head << ", row " << row << ", column " << n;
      }
    }
  }
}

class MatmulTest : public KernelTest {};

TEST_P(MatmulTest, SumsAreExact) {
  for (const MatmulShape& s : {MatmulShape{1, 1, 1, 1},
                               {3, 1, 64, 70},
                               {2, 5, 17, 9},
                               {1, 3, 300, 33},
                               {3, 2, 16, 16},
                               {1, 1, 5, 200}}) {
    const auto a_size = static_cast<size_t>(s.heads * s.rows * (s.depth + 3));
    const auto b_size = static_cast<size_t>((s.depth + 2) * (s.columns + 2));
    const std::vector<uint16_t> a = random_u16(a_size, 1);
    for (const bool by_column : {false, true}) {
      expect_exact(kernels(), s, by_column, 33333, random_u16(b_size, 2), a);
      expect_exact(kernels(), s, by_column, 128, random_codes<uint8_t>(b_size, 3, 0, 255), a);
    }
  }
}

TEST_P(MatmulTest, RowsOfZerosAreSkipped) {
  const MatmulShape s{1, 2, 40, 24};
  std::vector<uint16_t> a(2 * 43, 30000);  // the zero point
  a[7] = 65535;
  a[43 + 21] = 0;
  expect_exact(kernels(), s, false, 33333, random_u16(42 * 26, 2), a);
}

LATHE_ON_EVERY_ISA(MatmulTest);

}  // namespace
}  // namespace lathe
