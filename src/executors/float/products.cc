#include "executors/float/products.h"

#include <dnnl.h>
#include <omp.h>

#include <algorithm>
#include <atomic>

#include "executors/float/parallel_loop.h"
#include "support/error.h"

namespace lathe {
namespace {

// Large enough for sgemm to reach its speed, small enough to share a product of 1,024 tokens.
constexpr int64_t kTileRows = 256;
constexpr int64_t kTileColumns = 512;
// Products of few rows are bound by reading the weight; narrower tiles give every thread some.
constexpr int64_t kFewRows = 64;
constexpr int64_t kNarrowColumns = 128;

constexpr int64_t kBlockChannels = 1024;
constexpr int64_t kBlockBytes = int64_t{8} << 20;
constexpr int64_t kChannelsPerRead = 16;

/// While it lives, oneDNN uses the calling thread only.
class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~OneThread() { omp_set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

/// A batch of equal products c = a * b, or a * transposed b. Strides in elements.
struct Batch {
  int64_t count, m, n, k;
  const float* a;  // [count, m, k]
  const float* b;  // [count, k, n], or [n, k] where transposed
  bool b_transposed;
  float* c;  // rows of c_stride elements
  int64_t c_stride;
};

void multiply(ThreadPool& threads, const Batch& batch) {
  const int64_t tile_columns = batch.m <= kFewRows ? kNarrowColumns : kTileColumns;
  const int64_t across = (batch.n + tile_columns - 1) / tile_columns;
  const int64_t down = (batch.m + kTileRows - 1) / kTileRows;
  const int64_t tiles = batch.count * down * across;
  std::atomic<int64_t> next{0};
  std::atomic<bool> failed{false};
  threads.run([&](int) {
    const OneThread one_thread;
    for (int64_t tile = next++; tile < tiles; tile = next++) {
      const int64_t matrix = tile / (down * across);
      const int64_t row = tile / across % down * kTileRows;
      const int64_t column = tile % across * tile_columns;
      const float* a = batch.a + (matrix * batch.m + row) * batch.k;
      const float* b =
          batch.b + matrix * batch.k * batch.n + (batch.b_transposed ? column * batch.k : column);
      float* c = batch.c + (matrix * batch.m + row) * batch.c_stride + column;
      const dnnl_status_t status =
          dnnl_sgemm('N', batch.b_transposed ? 'T' : 'N', std::min(kTileRows, batch.m - row),
                     std::min(tile_columns, batch.n - column), batch.k, 1.0f, a, batch.k, b,
                     batch.b_transposed ? batch.k : batch.n, 0.0f, c, batch.c_stride);
      if (status != dnnl_success) failed = true;
    }
  });
  if (failed) fail({.what = "oneDNN refused a matrix product"});
}

/// Channels that are in memory at once.
int64_t block_channels(int64_t width) {
  const int64_t row_bytes = width * static_cast<int64_t>(sizeof(float));
  const int64_t fitting = kBlockBytes / row_bytes / kTileColumns * kTileColumns;
  return std::clamp(fitting, kTileColumns, kBlockChannels);
}

void add_bias(ThreadPool& threads, const float* bias, int64_t rows, int64_t width, float* out) {
  threads.split(rows, rows_per_task(width), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      float* y = out + row * width;
      for (int64_t i = 0; i < width; ++i) y[i] += bias[i];
    }
  });
}

}  // namespace

void Products::linear(const Value& weight, std::span<const TensorView> inputs,
                      const TensorView& output) {
  const int64_t channels = weight.shape[0];                // N
  const int64_t width = weight.shape[1];                   // K
  const int64_t rows = elements(inputs[0].shape) / width;  // M
  if (rows == 0) return;
  const auto* x = inputs[0].as<float>();
  const auto* held = inputs[1].as<float>();
  auto* out = output.as<float>();

  const int64_t step = block_channels(width);
  for (int64_t first = 0; first < channels; first += step) {
    const int64_t count = std::min(step, channels - first);
    const float* block = nullptr;
    if (held != nullptr) {
      block = held + first * width;
    } else {
      block_.resize(static_cast<size_t>(std::min(step, channels) * width));
      threads_.split(count, kChannelsPerRead, [&](int64_t begin, int64_t end) {
        weight.constant->floats->read((first + begin) * width, (end - begin) * width,
                                      block_.data() + begin * width);
      });
      block = block_.data();
    }
    multiply(threads_, {.count = 1,
                        .m = rows,
                        .n = count,
                        .k = width,
                        .a = x,
                        .b = block,
                        .b_transposed = true,
                        .c = out + first,
                        .c_stride = channels});
  }
  if (inputs.size() == 3) add_bias(threads_, inputs[2].as<float>(), rows, channels, out);
}

void Products::matmul(const TensorView& a, const TensorView& b, const TensorView& output) {
  const size_t rank = output.shape.size();
  const int64_t m = output.shape[rank - 2];
  const int64_t n = output.shape[rank - 1];
  const int64_t k = a.shape[rank - 1];
  if (elements(output.shape) == 0) return;
  multiply(threads_, {.count = elements(output.shape) / (m * n),
                      .m = m,
                      .n = n,
                      .k = k,
                      .a = a.as<float>(),
                      .b = b.as<float>(),
                      .b_transposed = false,
                      .c = output.as<float>(),
                      .c_stride = n});
}

}  // namespace lathe
