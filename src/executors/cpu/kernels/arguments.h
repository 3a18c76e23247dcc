#pragma once

#include <cstdint>

// What the kernels take. Plain data: kernels know nothing of graphs, allocate nothing, never throw,
// and run on the calling thread. Numbers mean what docs/numerics.md says.

namespace lathe {

/// Per-tensor encoding of u16 or u8 codes: real = float(code - zero_point) * scale in float32, and
/// back code = clamp(rint(real / scale) + zero_point). scale > 0; the zero point is a code.
struct Affine {
  float scale = 1.0f;
  int32_t zero_point = 0;
};

/// 4-bit weights in the layout of graph/packed_int4.h: weight = code * factor of its block.
struct Int4Weights {
  const uint8_t* groups = nullptr;  ///< of 16 channels each; 64-byte aligned
  int64_t group_bytes = 0;          ///< a multiple of 64
  int64_t block = 0;                ///< columns that share a factor, a multiple of 4; 0: all are 1
  int8_t* scratch = nullptr;        ///< int4_scratch_bytes(k), 64-byte aligned
};

/// Memory that is read soon. Fetching it early changes no result.
struct FetchNext {
  const uint8_t* data = nullptr;
  int64_t bytes = 0;
};

/// y = clamp(rint(double(acc[n]) * multiplier[n]) + y_zero_point, y_low, y_high) with the exact
/// acc[n] = sum over k of (x[k] - x_zero_point) * w[n, k], plus bias[n].
struct LinearArgs {
  const uint8_t* prepared = nullptr;     ///< [rows], each from prepare_activation or prepare_bytes
  int64_t prepared_stride = 0;           ///< bytes, at least prepared_bytes(k)
  bool bytes = false;                    ///< the rows are from prepare_bytes
  int64_t rows = 0;                      ///< at least 1
  int64_t k = 0;                         ///< input features, 1 to 2^23
  const int8_t* weights = nullptr;       ///< packed, graph/packed_weights.h; 64-byte aligned
  Int4Weights int4;                      ///< what linear_int4() reads instead of `weights`
  FetchNext behind;                      ///< what is read after the last of the weights
  const int32_t* weight_sums = nullptr;  ///< [channels]
  const int32_t* bias = nullptr;         ///< [channels], or null: none
  const double* multiplier = nullptr;    ///< [channels], s_x * s_w[n] / s_y, finite
  int64_t channels = 0;                  ///< output features
  int32_t x_zero_point = 0;
  int32_t y_zero_point = 0;
  int32_t y_low = 0;
  int32_t y_high = 65535;
  uint16_t* y = nullptr;  ///< [rows, y_stride], the first `channels` are written
  int64_t y_stride = 0;   ///< elements
};

struct BinaryEncodings {
  Affine a;
  Affine b;
  Affine y;
};

/// y = mul(f(gate), up), where f(gate), silu or gelu, is rounded to a code of `activated` in
/// between.
struct GatedEncodings {
  Affine gate;
  Affine activated;
  Affine up;
  Affine y;
};

/// Every tensor of x * cos + cat(-x2, x1) * sin, each rounded to its codes.
struct RopeEncodings {
  Affine x;
  Affine cos;
  Affine sin;
  Affine rotated;      ///< cat(neg(x2), x1)
  Affine x_cos;        ///< x * cos
  Affine rotated_sin;  ///< rotated * sin
  Affine y;
};

/// Rotary embedding of one token as Hugging Face writes it: halves, not pairs.
struct RopeArgs {
  const uint16_t* x = nullptr;  ///< [heads, x_stride], the first head_dim count
  int64_t x_stride = 0;         ///< elements
  uint16_t* y = nullptr;        ///< [heads, y_stride]; may be x
  int64_t y_stride = 0;         ///< elements
  int64_t heads = 0;
  int64_t head_dim = 0;           ///< even
  const uint16_t* cos = nullptr;  ///< [head_dim]
  const uint16_t* sin = nullptr;  ///< [head_dim]
  RopeEncodings encodings;
};

/// Every tensor of cat(x1 * cos - x2 * sin, x2 * cos + x1 * sin), each rounded to its codes.
struct SplitRopeEncodings {
  Affine x;
  Affine cos;
  Affine sin;
  Affine x1_cos;
  Affine x2_sin;
  Affine x2_cos;
  Affine x1_sin;
  Affine low;    ///< x1 * cos - x2 * sin
  Affine high;   ///< x2 * cos + x1 * sin
  Affine bytes;  ///< of all parts, where they are requantized to u8; else of no meaning
};

/// Rotary embedding of one token in half-split form: x1 and x2 are the halves of what rotates of a
/// head, which share their rows of cos and sin. The rest of the head passes as it is.
struct SplitRopeArgs {
  const uint16_t* x = nullptr;  ///< [heads, x_stride], the first head_dim count
  int64_t x_stride = 0;         ///< elements
  uint16_t* y = nullptr;        ///< [heads, y_stride]; may be x
  uint8_t* bytes = nullptr;     ///< written instead of y where it is set
  int64_t y_stride = 0;         ///< elements
  int64_t heads = 0;
  int64_t head_dim = 0;
  int64_t rotating = 0;           ///< values of a head, the first ones; even
  const uint16_t* cos = nullptr;  ///< [rotating / 2]
  const uint16_t* sin = nullptr;  ///< [rotating / 2]
  SplitRopeEncodings encodings;
};

/// y = clamp(rint(double(acc) * multiplier) + y_zero_point) of u16, with the exact acc = sum over k
/// of (a[k] - a_zero_point) * (b[k] - b_zero_point), for the rows of heads that share one matrix b.
struct MatmulArgs {
  int64_t heads = 0;
  int64_t rows = 0;
  int64_t depth = 0;    ///< K, 1 to kMaxMatmulDepth
  int64_t columns = 0;  ///< N
  const uint16_t* a =
      nullptr;  ///< head h, row r: [depth] at a + h * a_head_stride + r * a_row_stride
  int64_t a_head_stride = 0;    ///< elements
  int64_t a_row_stride = 0;     ///< elements
  const uint16_t* b = nullptr;  ///< [depth, b_stride], or [columns, b_stride] where b_by_column
  const uint8_t* b_bytes = nullptr;  ///< where set, b has bytes, and they are here
  int64_t b_stride = 0;              ///< elements
  bool b_by_column = false;          ///< the depth is contiguous, not the columns
  uint16_t* y = nullptr;  ///< head h, row r: [columns] at y + h * y_head_stride + r * y_row_stride
  int64_t y_head_stride = 0;  ///< elements
  int64_t y_row_stride = 0;   ///< elements
  int32_t a_zero_point = 0;
  int32_t b_zero_point = 0;
  int32_t y_zero_point = 0;
  double multiplier = 1.0;    ///< s_a * s_b / s_y
  double* scratch = nullptr;  ///< [matmul_scratch_numbers(...)], aligned to 64
};

/// Products of two 16-bit codes stay below 2^32: this many sum to less than 2^53.
inline constexpr int64_t kMaxMatmulDepth = int64_t{1} << 21;

/// Columns [begin, end) of the attention scores.
struct ColumnRange {
  int64_t begin = 0;
  int64_t end = 0;
  bool operator==(const ColumnRange&) const = default;
};

/// Keys and values of some columns of one key-value head, u8 symmetric with zero point 128.
struct KvSegment {
  int64_t columns = 0;
  const uint8_t* keys = nullptr;    ///< [head_dim, key_stride], transposed
  int64_t key_stride = 0;           ///< bytes, at least `columns`
  const uint8_t* values = nullptr;  ///< [columns, value_stride]
  int64_t value_stride = 0;         ///< bytes, at least head_dim
};

/// A soft cap, each step rounded to u16 codes:
///   divided = x / divisor         float32
///   curved  = tanh(divided)       float32
///   capped  = curved * factor     float32
struct SoftcapEncodings {
  float divisor = 0.0f;  ///< 0: there is no soft cap
  Affine divided;
  Affine curved;
  float factor = 0.0f;
  Affine capped;
};

/// The chain that attention() equals, each step rounded to u16 codes:
///   scores = matmul(q, k)         rint(acc * score_multiplier), s_q * s_k / s_scores
///   scaled = scores * scalar      float32
///   capped = softcap(scaled)      where there is one, else scaled
///   masked = capped + mask        float32
///   p      = softmax(masked)      float32; s = 1/65536, zero point 0
/// or, where `replaces`, with no codes between capped and p:
///   masked = where(mask == 0, capped, min of the row of capped - below)
/// and at the end
///   out    = matmul(p, v)         rint(acc * out_multiplier), s_v / 65536 / s_out
struct AttentionEncodings {
  int32_t q_zero_point = 0;
  double score_multiplier = 1.0;
  Affine scores;
  float scalar = 1.0f;  ///< 1 / sqrt(head_dim)
  Affine scaled;
  SoftcapEncodings softcap;
  Affine mask;    ///< where `replaces`: the zero point is not 0
  Affine masked;  ///< where `replaces`: of no meaning
  bool replaces = false;
  float below = 0.0f;
  double out_multiplier = 1.0;
  int32_t out_zero_point = 0;
};

/// Queries of `heads` heads that share one key-value head, for `rows` tokens. Columns are those of
/// `past`, then those of `fresh`; at most kMaxAttentionColumns together, at least one.
struct AttentionArgs {
  int64_t head_dim = 0;  ///< 1 to kMaxHeadDim
  int64_t heads = 0;
  int64_t rows = 0;
  const uint16_t* q = nullptr;  ///< head h of row r at q + h * q_head_stride + r * q_row_stride
  int64_t q_head_stride = 0;    ///< elements
  int64_t q_row_stride = 0;     ///< elements
  KvSegment past;
  KvSegment fresh;
  const uint16_t* mask = nullptr;  ///< [rows, mask_stride]
  int64_t mask_stride = 0;         ///< elements
  /// Ascending and disjoint; every column whose mask code is not 0 in some row is in one of them
  /// (active_columns() finds them). The others are skipped where that provably changes no code.
  const ColumnRange* active = nullptr;
  int64_t active_count = 0;
  AttentionEncodings encodings;
  uint16_t* out = nullptr;  ///< head h of row r at out + h * out_head_stride + r * out_row_stride
  int64_t out_head_stride = 0;  ///< elements
  int64_t out_row_stride = 0;   ///< elements
  void* scratch = nullptr;      ///< attention_scratch_bytes(...), aligned to 64
};

/// 65535 * 128 * 256 is the largest sum of a score that still fits int32.
inline constexpr int64_t kMaxHeadDim = 256;
/// Codes of one softmax row sum to at most 65536 (1 + rounding of the float sum, below 1 %) plus
/// half a code each; times 128 this stays below 2^31 up to here.
inline constexpr int64_t kMaxAttentionColumns = 1 << 20;

}  // namespace lathe
