#include <memory>

#include "executors/cpu/lowering/nodes.h"
#include "executors/cpu/steps/attention_step.h"
#include "executors/cpu/values.h"

namespace lathe {
namespace {

AttentionEncodings attention_encodings(const PlanBuilder& plan, const AttentionPattern& pattern) {
  const auto encoding = [&](ValueId id) { return affine(plan.value(id)); };
  const auto scale = [&](ValueId id) { return static_cast<double>(encoding(id).scale); };
  AttentionEncodings e;
  e.q_zero_point = encoding(pattern.query).zero_point;
  e.scores = encoding(pattern.scores);
  e.score_multiplier = scale(pattern.query) * scale(pattern.new_keys) / scale(pattern.scores);
  e.scalar = static_cast<float>(pattern.scale);
  e.scaled = encoding(pattern.scaled);
  if (const auto& cap = pattern.softcap) {
    e.softcap = {static_cast<float>(cap->divisor), encoding(cap->divided), encoding(cap->curved),
                 static_cast<float>(cap->factor), encoding(cap->capped)};
  }
  e.mask = encoding(pattern.mask);
  if (pattern.below) {
    e.replaces = true;
    e.below = static_cast<float>(*pattern.below);
  } else {
    e.masked = encoding(pattern.masked);
  }
  e.out_multiplier = scale(pattern.weights) * scale(pattern.new_values) / scale(pattern.result);
  e.out_zero_point = encoding(pattern.result).zero_point;
  return e;
}

/// The buffer with the columns that a mask leaves: one step for all layers.
BufferId mask_columns(PlanBuilder& plan, ValueId mask, int64_t rows, int64_t context) {
  BufferId& columns = plan.mask_columns(mask);
  if (columns < 0) {
    columns = plan.new_buffer(Buffer::Kind::arena, sizeof(MaskColumns));
    const BufferId input = plan.bound_input(mask);
    plan.emit_aside(make_mask_columns_step(input, rows, context, columns), {input, {columns, 0}});
  }
  return columns;
}

}  // namespace

void lower_attention(PlanBuilder& plan, const AttentionPattern& pattern) {
  const Shape& shape = plan.value(pattern.query).shape;  // [1, H, AR, D]
  AttentionStep::Spec spec;
  spec.heads = shape[1];
  spec.kv_heads = shape[1] / pattern.groups;
  spec.rows = shape[2];
  spec.head_dim = shape[3];
  spec.context = plan.value(pattern.mask).shape[3];
  Place query = plan.place(pattern.query);
  if (query.strides[3] != 1) query = plan.dense(pattern.query);
  spec.query = query.buffer;
  spec.query_offset = query.offset;
  spec.query_head_stride = query.strides[1];
  spec.query_row_stride = query.strides[2];
  spec.past_keys = plan.bound_input(pattern.past_keys);
  spec.past_values = plan.bound_input(pattern.past_values);
  const Place new_keys = plan.dense(pattern.new_keys);
  spec.new_keys = new_keys.buffer;
  spec.new_keys_offset = new_keys.offset;
  const Place new_values = plan.dense(pattern.new_values);
  spec.new_values = new_values.buffer;
  spec.new_values_offset = new_values.offset;
  spec.mask = plan.bound_input(pattern.mask);
  spec.columns = mask_columns(plan, pattern.mask, spec.rows, spec.context);
  spec.encodings = attention_encodings(plan, pattern);
  spec.out = plan.new_buffer(Buffer::Kind::arena, byte_size(DType::u16, shape));
  spec.scratch = plan.new_buffer(Buffer::Kind::scratch,
                                 static_cast<int64_t>(spec.scratch_bytes()) * plan.threads());
  plan.emit(std::make_unique<AttentionStep>(spec), {spec.query,
                                                    spec.past_keys,
                                                    spec.new_keys,
                                                    spec.past_values,
                                                    spec.new_values,
                                                    spec.mask,
                                                    {spec.columns, 0},
                                                    spec.out,
                                                    spec.scratch});
  plan.define_at(pattern.result,
                 {spec.out, 0, {elements(shape), spec.head_dim, spec.heads * spec.head_dim, 1}});
}

}  // namespace lathe
