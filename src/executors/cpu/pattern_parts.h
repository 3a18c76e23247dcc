#pragma once

#include <initializer_list>
#include <vector>

#include "graph/graph.h"

namespace lathe {

// What patterns.h's matchers are made of.

using Users = std::vector<std::vector<NodeId>>;

/// The node that gives a value, where it is one of this operator; else null.
const Node* given_by(const Graph& graph, ValueId value, Op op);

bool all_u16(const Graph& graph, std::initializer_list<ValueId> values);

/// Whether nothing outside `covered` reads a result of a covered node, the last one's aside, and
/// `operands` are no such results either.
bool closed(const Graph& graph, const std::vector<NodeId>& covered,
            std::initializer_list<ValueId> operands, const Users& users);

}  // namespace lathe
