#include <gtest/gtest.h>

#include "decode/allocation_counter.h"
#include "executors/cpu/code_graph.h"
#include "executors/cpu/decoder_graph.h"
#include "executors/cpu/session.h"

namespace lathe {
namespace {

TEST(CpuAllocation, RunAllocatesNothing) {
  for (const int64_t rows : {1, 40}) {
    for (const int threads : {1, 2}) {
      CodeGraph graph(decoder(rows, 97));
      const auto session = make_cpu_session(graph.graph(), team_of(threads));
      const Results results = graph.run(*session);
      const int64_t before = test::allocations();
      session->run();
      EXPECT_EQ(test::allocations(), before) << rows << " tokens, " << threads << " threads";
    }
  }
}

TEST(CpuAllocation, BindingAnewAllocatesNothing) {
  CodeGraph graph(decoder(1, 40));
  const auto session = make_cpu_session(graph.graph(), team_of(1));
  std::vector<uint16_t> logits(300);
  std::vector<uint8_t> keys(2 * 16 * 39);
  const TensorView output = dense_view(DType::u16, {1, 1, 300}, logits.data());
  const TensorView nothing = dense_view(DType::u16, {1, 1, 300}, nullptr);
  const TensorView input = dense_view(DType::u8, {1, 2, 16, 39}, keys.data());
  const int64_t before = test::allocations();
  session->bind("logits", output);
  session->bind("logits", nothing);
  session->bind("k_cache_0", input);
  EXPECT_EQ(test::allocations(), before);
}

}  // namespace
}  // namespace lathe
