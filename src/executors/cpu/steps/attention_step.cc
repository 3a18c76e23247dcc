#include "executors/cpu/steps/attention_step.h"

#include <algorithm>

namespace lathe {
namespace {

// Rows that share one reading of keys and values.
constexpr int64_t kRowBlock = 8;

}  // namespace

size_t AttentionStep::Spec::scratch_bytes() const {
  const size_t bytes =
      attention_scratch_bytes(head_dim, heads / kv_heads, std::min(rows, kRowBlock), context);
  return (bytes + 63) / 64 * 64;
}

void AttentionStep::run(const Frame& frame) const noexcept {
  const MaskColumns& columns = *frame.at<MaskColumns>(spec_.columns);
  const int64_t rows = frame.counted(spec_.rows).end;
  const int64_t blocks = (rows + kRowBlock - 1) / kRowBlock;
  const int64_t units = blocks * spec_.heads;
  // Two products a column and dimension.
  constexpr int64_t kWorthwhile = 64 * 1024;
  const int64_t work = rows * spec_.heads * spec_.head_dim * columns.total();
  if (work < kWorthwhile) {
    attend(frame, columns, 0, 0, units);
    return;
  }
  const int64_t team = frame.pool->size();
  frame.pool->run([&](int member) {
    attend(frame, columns, member, units * member / team, units * (member + 1) / team);
  });
}

void AttentionStep::attend(const Frame& frame, const MaskColumns& columns, int member,
                           int64_t begin, int64_t end) const {
  const TensorView& mask = frame.inputs[static_cast<size_t>(spec_.mask)];
  const TensorView& past_keys = frame.inputs[static_cast<size_t>(spec_.past_keys)];
  const TensorView& past_values = frame.inputs[static_cast<size_t>(spec_.past_values)];
  const int64_t rows = frame.counted(spec_.rows).end;
  const int64_t groups = spec_.heads / spec_.kv_heads;
  const int64_t width = spec_.head_dim;
  while (begin < end) {
    const int64_t block = begin / spec_.heads;
    const int64_t head = begin % spec_.heads;
    const int64_t kv_head = head / groups;
    // Heads from here on that share keys and values.
    const int64_t shared = std::min((kv_head + 1) * groups - head, end - begin);
    const int64_t first_row = block * kRowBlock;

    AttentionArgs args;
    args.head_dim = width;
    args.heads = shared;
    args.rows = std::min(kRowBlock, rows - first_row);
    args.q = frame.at<uint16_t>(spec_.query, spec_.query_offset + head * spec_.query_head_stride +
                                                 first_row * spec_.query_row_stride);
    args.q_head_stride = spec_.query_head_stride;
    args.q_row_stride = spec_.query_row_stride;
    args.past = {spec_.context - spec_.rows,
                 past_keys.as<uint8_t>() + kv_head * past_keys.strides[1], past_keys.strides[2],
                 past_values.as<uint8_t>() + kv_head * past_values.strides[1],
                 past_values.strides[2]};
    const int64_t fresh = kv_head * width * spec_.rows;
    args.fresh = {spec_.rows, frame.at<uint8_t>(spec_.new_keys, spec_.new_keys_offset + fresh),
                  spec_.rows, frame.at<uint8_t>(spec_.new_values, spec_.new_values_offset + fresh),
                  width};
    args.mask = mask.as<uint16_t>() + first_row * mask.strides[2];
    args.mask_stride = mask.strides[2];
    args.active = columns.ranges.data();
    args.active_count = columns.count;
    args.encodings = spec_.encodings;
    args.out = frame.at<uint16_t>(spec_.out, (first_row * spec_.heads + head) * width);
    args.out_head_stride = width;
    args.out_row_stride = spec_.heads * width;
    args.scratch =
        frame.at<std::byte>(spec_.scratch, static_cast<int64_t>(spec_.scratch_bytes()) * member);
    frame.kernels->attention(args);
    begin += shared;
  }
}

}  // namespace lathe
