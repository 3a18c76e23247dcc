#include "passes/pipelines.h"

#include "graph/verifier.h"

namespace lathe {
namespace {

constexpr Pass kHf[] = {
    {"remove_redundancy", remove_redundancy},
    {"recompose_rms_norm", recompose_rms_norm},
    {"precomputed_rope", precomputed_rope},
    {"custom_static_cache", custom_static_cache},
    {"dead_code", dead_code},
};

constexpr Pass kRotations[] = {
    {"rotate_residual", rotate_residual},
    {"rotate_values", rotate_values},
};

}  // namespace

std::span<const Pass> hf_pipeline() { return kHf; }
std::span<const Pass> rotations() { return kRotations; }

void run_passes(Graph& graph, std::span<const Pass> passes) {
  for (const Pass& pass : passes) {
    pass.run(graph);
    verify(graph);
  }
}

}  // namespace lathe
