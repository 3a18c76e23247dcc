// Speed of the CPU kernels on one thread, for every instruction set of this processor, beside what
// a plain read of memory reaches.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "executors/cpu/kernels/kernels.h"
#include "graph/packed_int4.h"
#include "graph/packed_weights.h"

namespace lathe {
namespace {

/// Larger than the last-level cache, so that weights come from memory.
constexpr int64_t kStreamBytes = int64_t{256} << 20;

struct AlignedDelete {
  void operator()(void* memory) const { ::operator delete(memory, std::align_val_t{64}); }
};

/// `count` elements in a fixed pattern, aligned to 64 bytes.
template <typename T>
std::unique_ptr<T[], AlignedDelete> filled(int64_t count) {
  const auto size = static_cast<size_t>(count);
  auto* data = static_cast<T*>(::operator new(size * sizeof(T), std::align_val_t{64}));
  uint32_t state = 1;
  for (size_t i = 0; i < size; ++i) {
    state = state * 1664525u + 1013904223u;
    data[i] = static_cast<T>(state >> 16);
  }
  return std::unique_ptr<T[], AlignedDelete>(data);
}

void set_rate(benchmark::State& state, const char* name, double amount_per_iteration) {
  state.counters[name] =
      benchmark::Counter(amount_per_iteration, benchmark::Counter::kIsIterationInvariantRate);
}

void read_memory(benchmark::State& state) {
  const auto memory = filled<uint64_t>(kStreamBytes / 8);
  for (auto _ : state) {
    uint64_t sums[8] = {};
    for (int64_t i = 0; i < kStreamBytes / 8; i += 8) {
      for (int64_t j = 0; j < 8; ++j) sums[j] ^= memory[static_cast<size_t>(i + j)];
    }
    benchmark::DoNotOptimize(sums);
  }
  set_rate(state, "bytes/s", static_cast<double>(kStreamBytes));
}

/// `block`: of 4-bit weights; 0: they have 8 bits.
void linear(benchmark::State& state, const Kernels& kernels, int64_t rows, int64_t channels,
            int64_t k, int64_t block) {
  const Int4Matrix matrix{channels, k, block};
  const size_t weight_bytes =
      block == 0 ? packed_weights_bytes(channels, k) : int4_constant_bytes(matrix);
  const auto weights = filled<int8_t>(static_cast<int64_t>(weight_bytes));
  const auto scratch = filled<int8_t>(int4_scratch_bytes(k));
  const auto x = filled<uint16_t>(rows * k);
  const auto prepared = filled<uint8_t>(rows * prepared_bytes(k));
  std::vector<int32_t> sums(static_cast<size_t>(channels), 5);
  std::vector<double> multiplier(static_cast<size_t>(channels), 1e-6);
  std::vector<uint16_t> y(static_cast<size_t>(rows * channels));
  LinearArgs args;
  args.prepared = prepared.get();
  args.prepared_stride = prepared_bytes(k);
  args.rows = rows;
  args.k = k;
  args.weights = weights.get();
  args.int4 = {reinterpret_cast<const uint8_t*>(weights.get()),
               static_cast<int64_t>(int4_group_bytes(matrix)), block, scratch.get()};
  args.weight_sums = sums.data();
  args.multiplier = multiplier.data();
  args.channels = channels;
  args.x_zero_point = 31000;
  args.y_zero_point = 32768;
  args.y = y.data();
  args.y_stride = channels;
  for (auto _ : state) {
    for (int64_t row = 0; row < rows; ++row) {
      kernels.prepare_activation(x.get() + row * k, k, prepared.get() + row * args.prepared_stride);
    }
    (block == 0 ? kernels.linear : kernels.linear_int4)(args, 0, channels);
    benchmark::ClobberMemory();
  }
  const double products = static_cast<double>(channels) * static_cast<double>(k);
  set_rate(state, "bytes/s", static_cast<double>(weight_bytes));
  set_rate(state, "MAC/s", products * static_cast<double>(rows));
}

/// All layers of a model the size of SmolLM2-135M: 30 layers, 9 heads on 3 key-value heads of 64.
void attention(benchmark::State& state, const Kernels& kernels, int64_t depth, int64_t rows) {
  constexpr int64_t kLayers = 30;
  constexpr int64_t kKvHeads = 3;
  constexpr int64_t kGroup = 3;
  constexpr int64_t kHeadDim = 64;
  constexpr int64_t kContext = 1024;
  const int64_t past = kContext - rows;
  // As a runner's caches lie: slots for the whole context.
  const int64_t head_bytes = kContext * kHeadDim;
  const auto keys = filled<uint8_t>(kLayers * kKvHeads * head_bytes);
  const auto values = filled<uint8_t>(kLayers * kKvHeads * head_bytes);
  const auto fresh = filled<uint8_t>(rows * kHeadDim);
  const auto q = filled<uint16_t>(rows * kGroup * kHeadDim);
  std::vector<uint16_t> mask(static_cast<size_t>(rows * kContext));
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t c = 0; c < kContext; ++c) {
      const bool attends = c < past ? c < depth : c - past <= row;
      mask[static_cast<size_t>(row * kContext + c)] = attends ? 65535 : 0;
    }
  }
  std::vector<uint16_t> out(static_cast<size_t>(rows * kGroup * kHeadDim));
  const auto scratch = filled<uint8_t>(
      static_cast<int64_t>(attention_scratch_bytes(kHeadDim, kGroup, rows, kContext)));
  AttentionArgs args;
  args.head_dim = kHeadDim;
  args.heads = kGroup;
  args.rows = rows;
  args.q = q.get();
  args.q_head_stride = kHeadDim;
  args.q_row_stride = kGroup * kHeadDim;
  args.fresh = {rows, fresh.get(), rows, fresh.get(), kHeadDim};
  args.mask = mask.data();
  args.mask_stride = kContext;
  args.encodings.q_zero_point = 32768;
  args.encodings.score_multiplier = 1e-3;
  args.encodings.scores = {0.005f, 32768};
  args.encodings.scalar = 0.125f;
  args.encodings.scaled = {0.0007f, 32768};
  args.encodings.mask = {255.0f / 65535, 65535};
  args.encodings.masked = {0.0044f, 61000};
  args.encodings.out_multiplier = 1.0 / 256;
  args.encodings.out_zero_point = 32768;
  args.out = out.data();
  args.out_head_stride = kHeadDim;
  args.out_row_stride = kGroup * kHeadDim;
  args.scratch = scratch.get();
  for (auto _ : state) {
    ColumnRange active[4];
    args.active_count = active_columns(mask.data(), rows, kContext, kContext, active, 4);
    args.active = active;
    for (int64_t head = 0; head < kLayers * kKvHeads; ++head) {
      args.past = {past, keys.get() + head * head_bytes, kContext, values.get() + head * head_bytes,
                   kHeadDim};
      kernels.attention(args);
    }
    benchmark::ClobberMemory();
  }
}

void elementwise(benchmark::State& state, const Kernels& kernels, const std::string& name) {
  constexpr int64_t kCount = 1536;
  constexpr int64_t kVocabulary = 49152;
  const auto a = filled<uint16_t>(kVocabulary);
  const auto b = filled<uint16_t>(kVocabulary);
  std::vector<float> gamma(kCount, 1.0f);
  std::vector<uint16_t> y(kCount);
  const Affine e{0.001f, 32768};
  RopeArgs rope{a.get(), 64, y.data(), 64, 9, 64, b.get(), b.get(), {e, e, e, e, e, e, e}};
  for (auto _ : state) {
    if (name == "add") kernels.add(a.get(), b.get(), y.data(), kCount, {e, e, e});
    if (name == "silu_mul") kernels.silu_mul(a.get(), b.get(), y.data(), kCount, {e, e, e, e});
    if (name == "rms_norm") kernels.rms_norm(a.get(), gamma.data(), y.data(), kCount, 1e-5f, e, e);
    if (name == "rope_half_9x64") kernels.rope_half(rope);
    if (name == "argmax_49152") benchmark::DoNotOptimize(kernels.argmax(a.get(), kVocabulary));
    benchmark::ClobberMemory();
  }
}

template <typename Benchmark, typename... Arguments>
void add_benchmark(const std::string& name, Benchmark function, const Arguments&... arguments) {
  benchmark::RegisterBenchmark(name.c_str(),
                               [=](benchmark::State& state) { function(state, arguments...); });
}

void add_benchmarks() {
  add_benchmark("read_memory", read_memory);
  for (const Isa isa : available_isas()) {
    const Kernels kernels = kernels_for(isa);
    const std::string prefix = std::string(name_of(isa)) + "/";
    for (const int64_t k : {576, 1536}) {
      add_benchmark(prefix + "gemv/k:" + std::to_string(k), linear, kernels, int64_t{1},
                    kStreamBytes / k / 16 * 16, k, int64_t{0});
    }
    add_benchmark(prefix + "gemv/k:2048/int4:32", linear, kernels, int64_t{1},
                  kStreamBytes / 2048 / 16 * 16, int64_t{2048}, int64_t{32});
    for (const int64_t rows : {2, 6, 32, 128}) {
      add_benchmark(prefix + "gemm/1536x576/rows:" + std::to_string(rows), linear, kernels, rows,
                    int64_t{1536}, int64_t{576}, int64_t{0});
    }
    add_benchmark(prefix + "gemm/1536x576/rows:32/int4:32", linear, kernels, int64_t{32},
                  int64_t{1536}, int64_t{576}, int64_t{32});
    for (const int64_t block : {0, 32}) {
      add_benchmark(prefix + "gemm/k:2048/rows:32/int4:" + std::to_string(block), linear, kernels,
                    int64_t{32}, kStreamBytes / 2048, int64_t{2048}, block);
    }
    add_benchmark(prefix + "gemm/576x1536/rows:128", linear, kernels, int64_t{128}, int64_t{576},
                  int64_t{1536}, int64_t{0});
    for (const int64_t depth : {100, 1000}) {
      add_benchmark(prefix + "attention/30x9x64/depth:" + std::to_string(depth), attention, kernels,
                    depth, int64_t{1});
    }
    add_benchmark(prefix + "attention/30x9x64/depth:512/rows:16", attention, kernels, int64_t{512},
                  int64_t{16});
    for (const char* name : {"add", "silu_mul", "rms_norm", "rope_half_9x64", "argmax_49152"}) {
      add_benchmark(prefix + name, elementwise, kernels, std::string(name));
    }
  }
}

}  // namespace
}  // namespace lathe

int main(int argc, char** argv) {
  lathe::add_benchmarks();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
