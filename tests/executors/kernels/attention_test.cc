#include <algorithm>

#include "executors/cpu/kernels/generic/numeric.h"
#include "executors/kernels/kernel_test.h"

namespace lathe {
namespace {

/// One key-value head with the queries that share it.
struct Problem {
  int64_t head_dim;
  int64_t heads;
  int64_t rows;
  int64_t past;                      // columns of the cache
  int64_t fresh;                     // columns of the new tokens
  std::vector<uint16_t> q;           // [rows, heads, head_dim]
  std::vector<uint8_t> past_keys;    // [head_dim, past]
  std::vector<uint8_t> past_values;  // [past, head_dim]
  std::vector<uint8_t> new_keys;     // [head_dim, fresh]
  std::vector<uint8_t> new_values;   // [fresh, head_dim]
  std::vector<uint16_t> mask;        // [rows, past + fresh]
  AttentionEncodings encodings;

  int64_t columns() const { return past + fresh; }
  int key(int64_t d, int64_t c) const {
    return c < past ? past_keys[static_cast<size_t>(d * past + c)]
                    : new_keys[static_cast<size_t>(d * fresh + c - past)];
  }
  int value(int64_t c, int64_t d) const {
    return c < past ? past_values[static_cast<size_t>(c * head_dim + d)]
                    : new_values[static_cast<size_t>((c - past) * head_dim + d)];
  }
};

struct Shape {
  int64_t head_dim;
  int64_t heads;
  int64_t rows;
  int64_t past;
  int64_t fresh;
};

/// As in a model: `filled` columns of the cache hold tokens, the rest are masked out, new tokens
/// attend to themselves and those before.
Problem random_problem(const Shape& shape, int64_t filled, uint32_t seed) {
  Problem p{};
  p.head_dim = shape.head_dim;
  p.heads = shape.heads;
  p.rows = shape.rows;
  p.past = shape.past;
  p.fresh = shape.fresh;
  const auto count = [](int64_t a, int64_t b) { return static_cast<size_t>(a * b); };
  p.q = random_u16(count(p.rows * p.heads, p.head_dim), seed);
  p.past_keys = random_codes<uint8_t>(count(p.head_dim, p.past), seed + 1, 0, 255);
  p.past_values = random_codes<uint8_t>(count(p.past, p.head_dim), seed + 2, 0, 255);
  p.new_keys = random_codes<uint8_t>(count(p.head_dim, p.fresh), seed + 3, 0, 255);
  p.new_values = random_codes<uint8_t>(count(p.fresh, p.head_dim), seed + 4, 0, 255);
  for (int64_t row = 0; row < p.rows; ++row) {
    for (int64_t c = 0; c < p.columns(); ++c) {
      const bool attends = c < p.past ? c < filled : c - p.past <= row;
      p.mask.push_back(attends ? 65535 : 0);
    }
  }
  // q of about -4 to 4, keys of about -3 to 3.
  const double q_scale = 8.0 / 65535;
  const double k_scale = 3.0 / 127.5;
  const double v_scale = 2.0 / 127.5;
  const double spread = 20.0 * std::sqrt(static_cast<double>(p.head_dim));
  const double out_scale = 4.0 / 65535;
  AttentionEncodings& e = p.encodings;
  e.q_zero_point = 31000;
  e.scores = {static_cast<float>(2 * spread / 65535), 33000};
  e.score_multiplier = q_scale * k_scale / static_cast<double>(e.scores.scale);
  e.scalar = 1.0f / std::sqrt(static_cast<float>(p.head_dim));
  e.scaled = {40.0f / 65535, 33100};
  e.mask = {255.0f / 65535, 65535};
  e.masked = {290.0f / 65535, 61000};
  e.out_multiplier = v_scale / 65536 / out_scale;
  e.out_zero_point = 32700;
  return p;
}

using Codes = std::vector<uint16_t>;

/// A scaled score behind the soft cap, if there is one.
int capped_code(int scaled, const AttentionEncodings& e) {
  const SoftcapEncodings& cap = e.softcap;
  if (cap.divisor == 0.0f) return scaled;
  const int divided =
      reference_encode(reference_decode(scaled, e.scaled) / cap.divisor, cap.divided);
  const int curved = reference_encode(tanh_f32(reference_decode(divided, cap.divided)), cap.curved);
  return reference_encode(reference_decode(curved, cap.curved) * cap.factor, cap.capped);
}

/// The encoding of what the mask is applied to.
Affine score_encoding(const AttentionEncodings& e) {
  return e.softcap.divisor == 0.0f ? e.scaled : e.softcap.capped;
}

/// Scores of one query times the scalar, perhaps capped, as codes.
Codes score_codes(const Problem& p, int64_t head, int64_t row) {
  const AttentionEncodings& e = p.encodings;
  Codes codes;
  for (int64_t c = 0; c < p.columns(); ++c) {
    int64_t sum = 0;
    for (int64_t d = 0; d < p.head_dim; ++d) {
      const int q = p.q[static_cast<size_t>((row * p.heads + head) * p.head_dim + d)];
      sum += static_cast<int64_t>(q - e.q_zero_point) * (p.key(d, c) - 128);
    }
    const int score = reference_rescale(sum, e.score_multiplier, e.scores.zero_point);
    const int scaled = reference_encode(reference_decode(score, e.scores) * e.scalar, e.scaled);
    codes.push_back(static_cast<uint16_t>(capped_code(scaled, e)));
  }
  return codes;
}

int mask_code(const Problem& p, int64_t row, size_t column) {
  return p.mask[static_cast<size_t>(row * p.columns()) + column];
}

/// Scores plus the mask, as codes.
Codes masked_codes(const Problem& p, int64_t head, int64_t row) {
  const AttentionEncodings& e = p.encodings;
  Codes codes = score_codes(p, head, row);
  for (size_t c = 0; c < codes.size(); ++c) {
    codes[c] =
        static_cast<uint16_t>(reference_encode(reference_decode(codes[c], score_encoding(e)) +
                                                   reference_decode(mask_code(p, row, c), e.mask),
                                               e.masked));
  }
  return codes;
}

using Reals = std::vector<float>;

Reals decoded(const Codes& codes, Affine encoding) {
  Reals reals;
  for (const uint16_t code : codes) reals.push_back(reference_decode(code, encoding));
  return reals;
}

/// What softmax is taken of: the sum with the mask, or scores of which the masked are replaced.
Reals masked_scores(const Problem& p, int64_t head, int64_t row) {
  const AttentionEncodings& e = p.encodings;
  if (!e.replaces) return decoded(masked_codes(p, head, row), e.masked);
  Reals scores = decoded(score_codes(p, head, row), score_encoding(e));
  const float masked = *std::min_element(scores.begin(), scores.end()) - e.below;
  for (size_t c = 0; c < scores.size(); ++c) {
    if (reference_decode(mask_code(p, row, c), e.mask) != 0.0f) scores[c] = masked;
  }
  return scores;
}

/// Softmax with the kernels' exponential, added without rounding: what they must equal.
Codes softmax_codes(const Reals& scores) {
  const float maximum = *std::max_element(scores.begin(), scores.end());
  double total = 0.0;
  Reals exponentials;
  for (const float score : scores) {
    exponentials.push_back(exp_f32(score - maximum));
    total += softmax_term(exponentials.back());
  }
  const auto sum = static_cast<float>(total);
  Codes codes;
  for (const float x : exponentials) {
    codes.push_back(static_cast<uint16_t>(reference_encode(x / sum, {1.0f / 65536, 0})));
  }
  return codes;
}

/// The same with the exponential of the C++ library, added in float64.
Codes true_softmax_codes(const Reals& scores) {
  const double maximum = static_cast<double>(*std::max_element(scores.begin(), scores.end()));
  double sum = 0;
  for (const float score : scores) sum += std::exp(static_cast<double>(score) - maximum);
  Codes codes;
  for (const float score : scores) {
    const double p = std::exp(static_cast<double>(score) - maximum) / sum;
    codes.push_back(static_cast<uint16_t>(std::min(65535.0, std::nearbyint(p * 65536))));
  }
  return codes;
}

Codes expected_output(const Problem& p) {
  Codes out;
  for (int64_t row = 0; row < p.rows; ++row) {
    for (int64_t head = 0; head < p.heads; ++head) {
      const Codes probabilities = softmax_codes(masked_scores(p, head, row));
      for (int64_t d = 0; d < p.head_dim; ++d) {
        int64_t sum = 0;
        for (int64_t c = 0; c < p.columns(); ++c) {
          sum += int64_t{probabilities[static_cast<size_t>(c)]} * (p.value(c, d) - 128);
        }
        out.push_back(static_cast<uint16_t>(
            reference_rescale(sum, p.encodings.out_multiplier, p.encodings.out_zero_point)));
      }
    }
  }
  return out;
}

/// Output [rows, heads, head_dim].
Codes run(const Kernels& kernels, const Problem& p, const std::vector<ColumnRange>& active) {
  Codes out(static_cast<size_t>(p.rows * p.heads * p.head_dim));
  Aligned<uint8_t> scratch(attention_scratch_bytes(p.head_dim, p.heads, p.rows, p.columns()));
  AttentionArgs args;
  args.head_dim = p.head_dim;
  args.heads = p.heads;
  args.rows = p.rows;
  args.q = p.q.data();
  args.q_head_stride = p.head_dim;
  args.q_row_stride = p.heads * p.head_dim;
  args.past = {p.past, p.past_keys.data(), p.past, p.past_values.data(), p.head_dim};
  args.fresh = {p.fresh, p.new_keys.data(), p.fresh, p.new_values.data(), p.head_dim};
  args.mask = p.mask.data();
  args.mask_stride = p.columns();
  args.active = active.data();
  args.active_count = static_cast<int64_t>(active.size());
  args.encodings = p.encodings;
  args.out = out.data();
  args.out_head_stride = p.head_dim;
  args.out_row_stride = p.heads * p.head_dim;
  args.scratch = scratch.data();
  kernels.attention(args);
  return out;
}

Codes run(const Kernels& kernels, const Problem& p) {
  std::vector<ColumnRange> active(4);
  active.resize(static_cast<size_t>(
      active_columns(p.mask.data(), p.rows, p.columns(), p.columns(), active.data(), 4)));
  return run(kernels, p, active);
}

class AttentionTest : public KernelTest {};

TEST_P(AttentionTest, EqualsTheUnfusedChainForEveryHeadSize) {
  for (const int64_t head_dim : {1, 3, 16, 32, 64, 80, 100, 128, 256}) {
    for (const auto& [past, filled] :
         {std::pair<int64_t, int64_t>{0, 0}, {1, 1}, {63, 20}, {64, 64}, {127, 127}, {300, 111}}) {
      const Problem p =
          random_problem({head_dim, 3, 1, past, 1}, filled, static_cast<uint32_t>(head_dim + past));
      ASSERT_EQ(run(kernels(), p), expected_output(p))
          << "head_dim " << head_dim << ", past " << past << ", filled " << filled;
    }
  }
}

TEST_P(AttentionTest, EqualsTheUnfusedChainForManyRows) {
  for (const int64_t rows : {2, 5, 32}) {
    for (const int64_t filled : {0, 7, 96}) {
      const Problem p =
          random_problem({64, 2, rows, 100, rows}, filled, static_cast<uint32_t>(rows + filled));
      ASSERT_EQ(run(kernels(), p), expected_output(p)) << rows << " rows, filled " << filled;
    }
  }
}

TEST_P(AttentionTest, CalibrationHasNewTokensOnly) {
  const Problem p = random_problem({32, 1, 70, 0, 70}, 0, 8);
  EXPECT_EQ(run(kernels(), p), expected_output(p));
}

TEST_P(AttentionTest, TakesAnyMaskCode) {
  Problem p = random_problem({64, 3, 2, 150, 2}, 150, 4);
  p.mask = random_u16(p.mask.size(), 11);
  for (size_t i = 0; i < p.mask.size(); i += 3) p.mask[i] = 65535;
  for (size_t i = 1; i < p.mask.size(); i += 7) p.mask[i] = 0;
  EXPECT_EQ(run(kernels(), p), expected_output(p));
}

TEST_P(AttentionTest, MaskedOutColumnsThatStillCountAreNotSkipped) {
  // Masked scores end 12 below zero, where an exponential is far from 0.
  Problem p = random_problem({64, 3, 1, 300, 1}, 40, 6);
  p.encodings.masked = {32.0f / 65535, 24576};
  EXPECT_EQ(run(kernels(), p), expected_output(p));

  // The range of masked scores leaves room for skipping, but the maximum of this row is not there.
  p.encodings.mask = {10.0f / 65535, 65535};
  p.encodings.masked = {130.0f / 65535, 15000};
  EXPECT_EQ(run(kernels(), p), expected_output(p));
}

TEST_P(AttentionTest, ARowThatAttendsToNothingSeesAllColumns) {
  Problem p = random_problem({64, 2, 2, 90, 2}, 50, 7);
  std::fill(p.mask.begin(), p.mask.begin() + p.columns(), uint16_t{0});
  EXPECT_EQ(run(kernels(), p), expected_output(p));
  std::fill(p.mask.begin(), p.mask.end(), uint16_t{0});
  EXPECT_EQ(run(kernels(), p), expected_output(p));
}

TEST_P(AttentionTest, SkippingChangesNothing) {
  for (const int64_t filled : {0, 1, 15, 16, 200, 513}) {
    const Problem p = random_problem({64, 3, 1, 900, 1}, filled, static_cast<uint32_t>(filled));
    EXPECT_EQ(run(kernels(), p), run(kernels(), p, {{0, p.columns()}})) << filled;
    EXPECT_EQ(run(kernels(), p), run(portable(), p)) << filled;
  }
}

TEST_P(AttentionTest, ScoresMayHaveASoftCap) {
  for (const bool replaces : {false, true}) {
    for (const int64_t rows : {1, 3, 32}) {
      for (const int64_t filled : {0, 15, 200}) {
        Problem p = random_problem({64, 2, rows, 300, rows}, filled, 31);
        p.encodings.replaces = replaces;
        p.encodings.below = 20.0f;
        p.encodings.softcap = {
            5.0f, {8.0f / 65535, 33000}, {2.0f / 65535, 32768}, 5.0f, {10.0f / 65535, 32768}};
        EXPECT_EQ(run(kernels(), p), expected_output(p)) << rows << ", filled " << filled;
      }
    }
  }
}

/// As random_problem, with scores between -spread and spread that the mask replaces.
Problem replacing_problem(const Shape& shape, int64_t filled, float spread, uint32_t seed) {
  Problem p = random_problem(shape, filled, seed);
  p.encodings.replaces = true;
  p.encodings.below = 20.0f;
  p.encodings.scaled.scale = 2 * spread / 65535;
  return p;
}

TEST_P(AttentionTest, MaskedScoresMayBeReplaced) {
  // Over a narrow range masked scores still add to the sum, over a wide one they can be skipped.
  for (const float spread : {0.5f, 3.0f, 20.0f}) {
    for (const int64_t filled : {0, 1, 15, 200, 513}) {
      const Problem p = replacing_problem({64, 3, 1, 600, 1}, filled, spread, 21);
      EXPECT_EQ(run(kernels(), p), expected_output(p)) << spread << ", filled " << filled;
    }
    for (const int64_t rows : {2, 32}) {
      const Problem p = replacing_problem({32, 2, rows, 100, rows}, 40, spread, 22);
      EXPECT_EQ(run(kernels(), p), expected_output(p)) << spread << ", " << rows << " rows";
    }
  }
}

TEST_P(AttentionTest, OnlyAMaskOfZeroAttends) {
  Problem p = replacing_problem({64, 2, 2, 90, 2}, 50, 20.0f, 23);
  for (size_t i = 0; i < p.mask.size(); i += 3) p.mask[i] = 65534;
  EXPECT_EQ(run(kernels(), p), expected_output(p));
  std::fill(p.mask.begin(), p.mask.begin() + p.columns(), uint16_t{0});
  EXPECT_EQ(run(kernels(), p), expected_output(p));
}

TEST_P(AttentionTest, LongContextIsTheSameOnEveryInstructionSet) {
  const Problem p = random_problem({128, 4, 2, 4500, 2}, 4400, 12);
  EXPECT_EQ(run(kernels(), p), run(portable(), p));
}

TEST_P(AttentionTest, LargestSumsDoNotOverflow) {
  for (const int q : {0, 65535}) {
    for (const int k : {0, 255}) {
      Problem p = random_problem({256, 1, 1, 130, 1}, 130, 13);
      std::fill(p.q.begin(), p.q.end(), static_cast<uint16_t>(q));
      std::fill(p.past_keys.begin(), p.past_keys.end(), static_cast<uint8_t>(k));
      std::fill(p.new_keys.begin(), p.new_keys.end(), static_cast<uint8_t>(k));
      std::fill(p.past_values.begin(), p.past_values.end(), static_cast<uint8_t>(255 - k));
      p.encodings.q_zero_point = 65535 - q;
      p.encodings.score_multiplier = 32000.0 / 2147450880.0;
      EXPECT_EQ(run(kernels(), p), expected_output(p)) << "q " << q << ", k " << k;
    }
  }
}

TEST_P(AttentionTest, ProbabilitiesAreWithinOneCodeOfTheTrueSoftmax) {
  // Values that are 1 in one column and 0 elsewhere give back the probability of that column.
  Problem p = random_problem({256, 1, 1, 255, 1}, 255, 14);
  p.encodings.out_multiplier = 1.0;
  p.encodings.out_zero_point = 0;
  std::fill(p.past_values.begin(), p.past_values.end(), uint8_t{128});
  std::fill(p.new_values.begin(), p.new_values.end(), uint8_t{128});
  for (size_t c = 0; c < 255; ++c) p.past_values[c * 256 + c] = 129;
  p.new_values[255] = 129;
  for (const float spread : {1.0f, 8.0f, 60.0f}) {
    p.encodings.scaled.scale = spread / 65535;
    const Reals scores = masked_scores(p, 0, 0);
    const Codes probabilities = run(kernels(), p);
    EXPECT_EQ(probabilities, softmax_codes(scores));
    EXPECT_LE(largest_difference(probabilities, true_softmax_codes(scores)), 1);
  }
}

TEST_P(AttentionTest, ReadsStridedTensors) {
  const Problem p = random_problem({64, 2, 3, 50, 3}, 41, 15);
  const int64_t stride = 77;
  const auto spread = [&](const std::vector<uint8_t>& from, int64_t rows, int64_t width) {
    std::vector<uint8_t> to(static_cast<size_t>(rows * stride), 201);
    for (int64_t r = 0; r < rows; ++r) {
      std::copy_n(from.begin() + r * width, width, to.begin() + r * stride);
    }
    return to;
  };
  const auto past_keys = spread(p.past_keys, p.head_dim, p.past);
  const auto past_values = spread(p.past_values, p.past, p.head_dim);
  // q and out as [heads, rows, head_dim], one element apart.
  const int64_t row_stride = p.head_dim + 1;
  const int64_t head_stride = p.rows * row_stride;
  Codes q(static_cast<size_t>(p.heads * head_stride), 9);
  for (int64_t row = 0; row < p.rows; ++row) {
    for (int64_t head = 0; head < p.heads; ++head) {
      std::copy_n(p.q.begin() + (row * p.heads + head) * p.head_dim, p.head_dim,
                  q.begin() + head * head_stride + row * row_stride);
    }
  }
  Codes out(q.size(), 4711);
  Aligned<uint8_t> scratch(attention_scratch_bytes(p.head_dim, p.heads, p.rows, p.columns()));
  const ColumnRange all{0, p.columns()};
  AttentionArgs args;
  args.head_dim = p.head_dim;
  args.heads = p.heads;
  args.rows = p.rows;
  args.q = q.data();
  args.q_head_stride = head_stride;
  args.q_row_stride = row_stride;
  args.past = {p.past, past_keys.data(), stride, past_values.data(), stride};
  args.fresh = {p.fresh, p.new_keys.data(), p.fresh, p.new_values.data(), p.head_dim};
  args.mask = p.mask.data();
  args.mask_stride = p.columns();
  args.active = &all;
  args.active_count = 1;
  args.encodings = p.encodings;
  args.out = out.data();
  args.out_head_stride = head_stride;
  args.out_row_stride = row_stride;
  args.scratch = scratch.data();
  kernels().attention(args);

  const Codes expected = expected_output(p);
  for (int64_t row = 0; row < p.rows; ++row) {
    for (int64_t head = 0; head < p.heads; ++head) {
      const auto at = out.begin() + head * head_stride + row * row_stride;
      const auto reference = expected.begin() + (row * p.heads + head) * p.head_dim;
      EXPECT_TRUE(std::equal(at, at + p.head_dim, reference)) << row << ", " << head;
      EXPECT_EQ(at[p.head_dim], 4711);
    }
  }
}

LATHE_ON_EVERY_ISA(AttentionTest);

}  // namespace
}  // namespace lathe
