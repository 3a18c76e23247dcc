#pragma once

#include <span>

#include "passes/pass.h"

namespace lathe {

/// From the graph as Hugging Face's code has it to the static float graph with the IO contract.
std::span<const Pass> hf_pipeline();

/// What a recipe with "transforms" adds before quantization.
std::span<const Pass> rotations();

/// Runs the passes in order; the verifier looks at the graph after each.
void run_passes(Graph& graph, std::span<const Pass> passes);

}  // namespace lathe
