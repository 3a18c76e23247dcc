#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace lathe {

/// Gives every constant without data made-up numbers that depend on its name alone.
void fill_constants(Graph& graph);

/// The integer graph that a float graph with filled constants could have become: u8 symmetric
/// behind a requantize and for caches, the fixed encodings, u16 elsewhere; conv2d weights packed,
/// biases in their products' steps. The encodings are made up, too: they fit the numbers roughly.
Graph made_up_integers(const Graph& graph);

/// Bytes of every output, by name, as the reference computes them from inputs that are made up from
/// their names.
std::map<std::string, std::vector<std::byte>> evaluate(const Graph& graph);

/// The floats of an output.
std::vector<float> floats_of(const std::vector<std::byte>& bytes);

/// How many nodes of that operator a graph has.
int count(const Graph& graph, Op op);

}  // namespace lathe
