#include "executors/cpu/steps/linear_step.h"

#include <algorithm>
#include <utility>

#include "graph/packed_weights.h"

namespace lathe {
namespace {

int64_t groups_of(int64_t channels) { return (channels + kPackedChannels - 1) / kPackedChannels; }

}  // namespace

void LinearStep::add(Output output) {
  const int64_t groups = groups_of(output.channels);
  groups_ += groups;
  weight_bytes_ += groups * group_bytes(output);
  outputs_.push_back(std::move(output));
}

int64_t LinearStep::group_bytes(const Output& output) const {
  if (output.int4) return output.int4->group_bytes;
  return static_cast<int64_t>(packed_weights_bytes(kPackedChannels, input_.k));
}

void LinearStep::run(const Frame& frame) const noexcept {
  const RowRange rows = frame.counted(input_.rows);
  prepare(frame, rows);
  constexpr int64_t kWorthwhile = 16 * 1024;
  if (groups_ * kPackedChannels * input_.k * (rows.end - rows.begin) < kWorthwhile) {
    multiply(frame, rows, 0, 0, groups_);
    return;
  }
  const int team = frame.pool->size();
  frame.pool->run([&](int member) {
    multiply(frame, rows, member, first_group(member, team), first_group(member + 1, team));
  });
}

void LinearStep::prepare(const Frame& frame, const RowRange& rows) const {
  auto* prepared = frame.at<uint8_t>(prepared_);
  const int64_t stride = prepared_bytes(input_.k);
  split_if_large(frame, rows.end - rows.begin, input_.k, [&](int64_t begin, int64_t end) {
    for (int64_t row = rows.begin + begin; row < rows.begin + end; ++row) {
      const int64_t at = input_.offset + row * input_.row_stride;
      uint8_t* to = prepared + row * stride;
      if (input_.bytes) {
        frame.kernels->prepare_bytes(frame.at<uint8_t>(input_.buffer, at), input_.k, to);
      } else {
        frame.kernels->prepare_activation(frame.at<uint16_t>(input_.buffer, at), input_.k, to);
      }
    }
  });
}

int64_t LinearStep::first_group(int member, int team) const {
  int64_t left = weight_bytes_ * member / team;
  int64_t group = 0;
  for (const Output& output : outputs_) {
    const int64_t groups = groups_of(output.channels);
    const int64_t bytes = groups * group_bytes(output);
    if (left < bytes) return group + left / group_bytes(output);
    left -= bytes;
    group += groups;
  }
  return group;
}

void LinearStep::multiply(const Frame& frame, const RowRange& rows, int member, int64_t first_group,
                          int64_t last_group) const {
  int64_t start = 0;  // first group of the output
  for (const Output& output : outputs_) {
    const int64_t count = groups_of(output.channels);
    const int64_t begin = std::max(first_group - start, int64_t{0});
    const int64_t end = std::min(last_group - start, count);
    start += count;
    if (begin >= end) continue;
    LinearArgs args;
    args.prepared_stride = prepared_bytes(input_.k);
    args.prepared = frame.at<uint8_t>(prepared_, rows.begin * args.prepared_stride);
    args.bytes = input_.bytes;
    args.rows = rows.end - rows.begin;
    args.k = input_.k;
    args.weight_sums = output.weight_sums;
    args.bias = output.bias;
    args.multiplier = output.multiplier.data();
    args.channels = output.channels;
    args.x_zero_point = input_.zero_point;
    args.y_zero_point = output.zero_point;
    args.y_high = output.largest;
    args.y = frame.at<uint16_t>(output.y, rows.begin * output.channels);
    args.y_stride = output.channels;
    const int64_t first = begin * kPackedChannels;
    const int64_t last = std::min(end * kPackedChannels, output.channels);
    if (output.int4) {
      args.int4 = {frame.at<uint8_t>(output.weights), output.int4->group_bytes,
                   output.int4->factors, output.int4->block,
                   frame.at<int8_t>(expanded_, member * int4_scratch_bytes(input_.k))};
      frame.kernels->linear_int4(args, first, last);
    } else {
      args.weights = frame.at<int8_t>(output.weights);
      frame.kernels->linear(args, first, last);
    }
  }
}

}  // namespace lathe
