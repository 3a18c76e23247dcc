#pragma once

#include <cstdint>
#include <string>

#include "graph/graph.h"
#include "quant/calibrate.h"

namespace lathe::test {

// A model of one layer in the form that the passes leave: hidden size 8, two heads that share one
// key and value head of dimension 4, rotary embeddings, a gate, tied embeddings over 11 tokens.
inline constexpr int64_t kVocabulary = 11;

/// The graph as text, without data.
std::string one_layer_text(GraphRole role, int64_t tokens_per_call, int64_t context);

/// The graph with the same weights in every role. Tables of cos and sin have `context` rows.
Graph one_layer(GraphRole role, int64_t tokens_per_call, int64_t context);

/// The weights of one_layer as they are named there, with values in [-1, 1].
std::shared_ptr<const Constant> one_layer_weight(const std::string& name, const Shape& shape);

/// Runs calibrate graphs of one_layer with the reference executor.
void run_one_layer(const CalibrationBatch& batch, const FloatObserver& observer);

}  // namespace lathe::test
