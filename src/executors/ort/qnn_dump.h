#pragma once

#include <string>
#include <string_view>

#include "artifact/manifest.h"

namespace lathe {

/// Reads the graph that the QNN provider writes with dump_json_qnn_graph: graph.nodes has `type` of
/// each operator; graph.tensors has `type` (0: written by the application, 1: read by it), `dims`,
/// and `data_type`, whose last byte spells the number of bits in decimal digits (0x0416: 16 bits,
/// the numbering of QNN's QnnTypes.h). Throws Error, naming `where`, for anything else.
CompiledGraph summarize_qnn_dump(std::string_view text, const std::string& where);

}  // namespace lathe
