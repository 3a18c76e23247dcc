#include <algorithm>
#include <optional>

#include "executors/cpu/lowering/nodes.h"
#include "executors/cpu/steps/body_step.h"
#include "executors/cpu/values.h"
#include "executors/reference/integer.h"

namespace lathe {
namespace {

/// A stack of matrices: element (r, c) of number i at offset + i * step + r * row + c * column.
struct Matrices {
  Place where;
  int64_t step = 0;
  int64_t row = 0;
  int64_t column = 0;
};

/// Nothing where the leading dimensions do not lie at equal steps.
std::optional<Matrices> stacked(const Shape& shape, const Place& where) {
  const auto lead = shape.end() - 2 - shape.begin();
  const Shape sizes(shape.begin(), shape.begin() + lead);
  const std::optional<Shape> step = reshape_strides(
      sizes, Shape(where.strides.begin(), where.strides.begin() + lead), {elements(sizes)});
  if (!step) return std::nullopt;
  return Matrices{where, step->front(), where.strides[shape.size() - 2],
                  where.strides[shape.size() - 1]};
}

bool contiguous(int64_t size, int64_t stride) { return size == 1 || stride == 1; }

/// Matrices with contiguous rows or, where `columns_do`, contiguous columns.
Matrices matrices(PlanBuilder& plan, ValueId id, bool columns_do) {
  const Shape& shape = plan.value(id).shape;
  const std::optional<Matrices> found = stacked(shape, plan.place(id));
  if (found && (contiguous(shape[shape.size() - 1], found->column) ||
                (columns_do && contiguous(shape[shape.size() - 2], found->row)))) {
    return *found;
  }
  return *stacked(shape, plan.dense(id));
}

/// Emits a [heads, M, K] times b [heads / groups, K, N].
void emit_matmul(PlanBuilder& plan, ValueId left, ValueId result, int64_t groups, const Matrices& b,
                 const Value& b_value) {
  const Shape& a_shape = plan.value(left).shape;
  const Shape& shape = plan.value(result).shape;
  const size_t rank = shape.size();
  const Matrices a = matrices(plan, left, false);
  const bool b_by_column = !contiguous(shape[rank - 1], b.column) ||
                           (shape[rank - 1] == 1 && contiguous(a_shape[rank - 1], b.row));
  const Affine from = affine(plan.value(left));
  const Affine to = affine(plan.value(result));
  MatmulArgs base;
  base.rows = shape[rank - 2];
  base.depth = a_shape[rank - 1];
  base.columns = shape[rank - 1];
  base.a_head_stride = a.step;
  base.a_row_stride = a.row;
  base.b_by_column = b_by_column;
  base.b_stride = b_by_column ? b.column : b.row;
  base.a_zero_point = from.zero_point;
  base.b_zero_point = affine(b_value).zero_point;
  base.y_zero_point = to.zero_point;
  base.multiplier = static_cast<double>(from.scale) * static_cast<double>(affine(b_value).scale) /
                    static_cast<double>(to.scale);
  const int64_t heads = elements(shape) / (base.rows * base.columns);
  // Token by token where there are heads: so the next projection wants it.
  const bool tokens_outermost = rank == 4 && shape[0] == 1;
  base.y_head_stride = tokens_outermost ? base.columns : base.rows * base.columns;
  base.y_row_stride = tokens_outermost ? heads * base.columns : base.columns;
  const Place y = plan.reserve(
      result, tokens_outermost ? Shape{elements(shape), base.y_head_stride, base.y_row_stride, 1}
                               : dense_strides(shape));

  // Columns are shared by the heads of a group, rows of b by nobody.
  constexpr int64_t kColumns = 64;
  const int64_t pieces = b_by_column ? (base.columns + kColumns - 1) / kColumns : groups;
  const int64_t units = heads / groups * pieces;
  base.heads = b_by_column ? groups : 1;
  const int64_t numbers = (matmul_scratch_numbers(base) + 7) / 8 * 8;
  const BufferId scratch = plan.new_buffer(
      Buffer::Kind::scratch, numbers * static_cast<int64_t>(sizeof(double)) * plan.threads());
  const bool bytes = b_value.dtype == DType::u8;
  const auto multiply = [=](const Frame& frame, int64_t unit, int member) {
    MatmulArgs args = base;
    const int64_t matrix = unit / pieces;
    const int64_t piece = unit % pieces;
    const int64_t first_head = matrix * groups + (b_by_column ? 0 : piece);
    const int64_t first_column = b_by_column ? piece * kColumns : 0;
    const int64_t b_offset = b.where.offset + matrix * b.step + first_column * base.b_stride;
    if (b_by_column) args.columns = std::min(kColumns, base.columns - first_column);
    args.a = frame.at<uint16_t>(a.where.buffer, a.where.offset + first_head * a.step);
    if (bytes) {
      args.b_bytes = frame.at<uint8_t>(b.where.buffer, b_offset);
    } else {
      args.b = frame.at<uint16_t>(b.where.buffer, b_offset);
    }
    args.y = frame.at<uint16_t>(y.buffer, first_head * base.y_head_stride + first_column);
    args.scratch = frame.at<double>(scratch, numbers * member);
    frame.kernels->matmul(args);
  };
  const int64_t work = elements(shape) * base.depth;
  plan.emit(make_step("matmul",
                      [=](const Frame& frame) noexcept {
                        constexpr int64_t kWorthwhile = 64 * 1024;
                        const int64_t team = work < kWorthwhile ? 1 : frame.pool->size();
                        const auto run = [&](int member) {
                          const int64_t end = units * (member + 1) / team;
                          for (int64_t unit = units * member / team; unit < end; ++unit) {
                            multiply(frame, unit, member);
                          }
                        };
                        if (team == 1) {
                          run(0);
                        } else {
                          frame.pool->run(run);
                        }
                      }),
            {a.where.buffer, b.where.buffer, y.buffer, scratch});
  plan.define_at(result, y);
}

}  // namespace

bool lower_matmul(PlanBuilder& plan, const Node& node) {
  if (!is_integer_matmul(*plan.graph(), node)) return false;
  const Value& a = plan.value(node.inputs[0]);
  const Value& b = plan.value(node.inputs[1]);
  const Value& y = plan.value(node.output());
  if (a.dtype != DType::u16 || y.dtype != DType::u16 || elements(y.shape) == 0 ||
      a.shape.back() > kMaxMatmulDepth) {
    return false;
  }
  emit_matmul(plan, node.inputs[0], node.output(), 1, matrices(plan, node.inputs[1], true), b);
  return true;
}

void lower_repeated_matmul(PlanBuilder& plan, const RepeatedMatmulPattern& pattern) {
  Matrices b = matrices(plan, pattern.b, true);
  if (pattern.exchanged) std::swap(b.row, b.column);
  emit_matmul(plan, pattern.a, pattern.result, pattern.groups, b, plan.value(pattern.b));
}

}  // namespace lathe
