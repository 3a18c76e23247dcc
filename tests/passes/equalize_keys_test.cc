#include "passes/equalize_keys.h"

#include <gtest/gtest.h>

#include "tiny_model.h"

namespace lathe {
namespace {

using testing::expect_close;
using testing::Outcome;
using testing::run_tiny;
using testing::tiny_model;

// Whole heads rotate in one, 12 of 16 dimensions in the other: those that rotate together share a
// factor, the rest have their own.
TEST(EqualizeKeys, KeysBecomeEquallyLargeAndLogitsStay) {
  for (const char* name : {"llama", "phi3_longrope"}) {
    SCOPED_TRACE(name);
    Graph graph = tiny_model(name);
    const Outcome before = run_tiny(graph);
    KeyMagnitudes magnitudes(3);  // made up, of two heads of dimension 16 a layer
    for (std::vector<float>& layer : magnitudes) {
      for (int i = 0; i < 32; ++i) layer.push_back(0.5f + static_cast<float>(i * i % 13));
    }
    const int64_t values = graph.value_count();
    equalize_keys(graph, magnitudes);
    expect_close(run_tiny(graph).logits, before.logits);
    EXPECT_GT(graph.value_count(), values) << "no weight was changed";
  }
}

}  // namespace
}  // namespace lathe
