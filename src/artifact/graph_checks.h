#pragma once

#include "graph/graph.h"

namespace lathe {

inline constexpr size_t kMaxGraphs = 16;
inline constexpr size_t kMaxNodes = size_t{1} << 17;     // and as many constants
inline constexpr size_t kMaxBoundary = size_t{1} << 12;  // inputs, and as many outputs
inline constexpr size_t kMaxNodeInputs = size_t{1} << 10;
inline constexpr size_t kMaxAttributes = 16;

/// Throws Error for a shape beyond the limits of list_reader.h; `where` names the value.
void check_shape(const Shape& shape, const std::string& where);

/// Throws Error for attributes that no operator takes: shape rules may multiply what passes here.
void check_attributes(const Attributes& attributes, const std::string& where);

/// What a graph of an artifact has to be, on the way out and on the way in: names unique, shapes
/// and counts within limits, encodings usable, the bytes of every constant as many as its type,
/// shape and layout ask for, and verify(graph, true). Throws Error.
void check_graph(const Graph& graph);

}  // namespace lathe
