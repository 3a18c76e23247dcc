#include "executors/cpu/steps/linear_step.h"

#include <algorithm>
#include <utility>

#include "graph/packed_weights.h"

namespace lathe {
namespace {

int64_t blocks_of(int64_t channels) { return (channels + kPackedChannels - 1) / kPackedChannels; }

}  // namespace

void LinearStep::add(Output output) {
  blocks_ += blocks_of(output.channels);
  outputs_.push_back(std::move(output));
}

void LinearStep::run(const Frame& frame) const noexcept {
  const uint16_t* x = frame.at<uint16_t>(input_.buffer, input_.offset);
  auto* prepared = frame.at<uint8_t>(prepared_);
  const int64_t stride = prepared_bytes(input_.k);
  split_if_large(frame, input_.rows, input_.k, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      frame.kernels->prepare_activation(x + row * input_.row_stride, input_.k,
                                        prepared + row * stride);
    }
  });
  split_if_large(frame, blocks_, kPackedChannels * input_.k * input_.rows,
                 [&](int64_t begin, int64_t end) { multiply(frame, begin, end); });
}

void LinearStep::multiply(const Frame& frame, int64_t first_block, int64_t last_block) const {
  int64_t start = 0;  // first block of the output
  for (const Output& output : outputs_) {
    const int64_t count = blocks_of(output.channels);
    const int64_t begin = std::max(first_block - start, int64_t{0});
    const int64_t end = std::min(last_block - start, count);
    start += count;
    if (begin >= end) continue;
    LinearArgs args;
    args.prepared = frame.at<uint8_t>(prepared_);
    args.prepared_stride = prepared_bytes(input_.k);
    args.rows = input_.rows;
    args.k = input_.k;
    args.weights = frame.at<int8_t>(output.weights);
    args.weight_sums = output.weight_sums;
    args.bias = output.bias;
    args.multiplier = output.multiplier.data();
    args.channels = output.channels;
    args.x_zero_point = input_.zero_point;
    args.y_zero_point = output.zero_point;
    args.y_high = output.largest;
    args.y = frame.at<uint16_t>(output.y);
    args.y_stride = output.channels;
    frame.kernels->linear(args, begin * kPackedChannels,
                          std::min(end * kPackedChannels, output.channels));
  }
}

}  // namespace lathe
