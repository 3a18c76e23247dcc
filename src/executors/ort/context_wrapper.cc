#include "executors/ort/context_wrapper.h"

#include <charconv>
#include <cstdint>
#include <string_view>
#include <system_error>

#include "executors/ort/onnx.pb.h"
#include "support/error.h"
#include "support/mapped_file.h"
#include "support/output_file.h"

namespace lathe {
namespace {

// ONNX leaves these to whoever writes a file.
constexpr char kGraphs[] = "lathe.context_graphs";

[[noreturn]] void refuse(const std::filesystem::path& wrapper) {
  fail({.what = "not an ONNX file that stands for a compiled graph",
        .where = printable(wrapper.string())});
}

onnx::AttributeProto& attribute(onnx::NodeProto& node, std::string_view name,
                                const std::filesystem::path& wrapper) {
  for (onnx::AttributeProto& candidate : *node.mutable_attribute()) {
    if (candidate.name() == name) return candidate;
  }
  refuse(wrapper);
}

}  // namespace

std::string point_at_context(const std::filesystem::path& wrapper, const ContextPlace& place) {
  onnx::ModelProto model;
  if (!model.ParseFromString(read_text_file(wrapper))) refuse(wrapper);
  // One node: the whole graph was compiled.
  if (model.graph().node_size() != 1) refuse(wrapper);
  onnx::NodeProto& node = *model.mutable_graph()->mutable_node(0);
  attribute(node, "ep_cache_context", wrapper).set_s(place.binary);
  onnx::StringStringEntryProto& graphs = *model.add_metadata_props();
  graphs.set_key(kGraphs);
  graphs.set_value(std::to_string(place.graphs));

  OutputFile file(wrapper);
  file.write(std::string_view(model.SerializeAsString()));
  file.commit();
  return attribute(node, "partition_name", wrapper).s();
}

size_t graphs_behind(const std::filesystem::path& file) {
  constexpr uintmax_t kLargest = 1 << 20;  // of a file with one node
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(file, error);
  onnx::ModelProto model;
  if (error || size > kLargest || !model.ParseFromString(read_text_file(file))) return 0;
  for (const onnx::StringStringEntryProto& entry : model.metadata_props()) {
    size_t graphs = 0;
    const std::string& digits = entry.value();
    if (entry.key() == kGraphs) {
      std::from_chars(digits.data(), digits.data() + digits.size(), graphs);
      return graphs;
    }
  }
  return 0;
}

}  // namespace lathe
