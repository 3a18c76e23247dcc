#include "artifact/small_model.h"

#include <fmt/format.h>

#include <memory>
#include <numeric>
#include <vector>

#include "artifact/container.h"
#include "artifact/format.h"
#include "graph/packed_weights.h"
#include "graph/text.h"

namespace lathe::testing {
namespace {

// Vocabulary 20, width 8. The weight of 20 channels by 8 is padded to 32 channels when packed.
constexpr const char* kGraph = R"(graph {0} ar={1} cl=8
  input %tokens : i32[1, {1}]
  input %k_cache_0 : u8[1, 1, 8, {2}]<0.01, 128>
  const %embed : u16[20, 8]<0.001, 32768>
  %embedding = aten.embedding(%embed, %tokens) : u16[1, {1}, 8]<0.001, 32768> @ model.embed_tokens
  const %table : u16[8]<0.0001, 40000>
  %mul = aten.mul(%embedding, %table) : u16[1, {1}, 8]<0.002, 1000> @ model.rotary
  %scaled = aten.mul(%mul) {{other=0.5}} : u16[1, {1}, 8]<0.001, 1000>
  %requantize = lathe.requantize(%scaled) : u8[1, {1}, 8]<0.01, 128>
  %view = aten.view(%requantize) {{sizes=[1, 1, {1}, -1]}} : u8[1, 1, {1}, 8]<0.01, 128>
  %transpose = aten.transpose(%view) {{dim0=-1, dim1=-2}} : u8[1, 1, 8, {1}]<0.01, 128>
  const %lm_head : i8[20, 8]<per channel 0>
  %linear = aten.linear(%embedding, %lm_head) : u16[1, {1}, 20]<0.003, 30000> @ lm_head
  output logits = %linear
  output k_new_0 = %transpose
)";

std::vector<std::byte> counting_bytes(size_t count) {
  std::vector<std::byte> bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 7);
  return bytes;
}

}  // namespace

Model small_model() {
  const auto embed = bytes_constant("model.embed_tokens.weight.u16", counting_bytes(20 * 8 * 2));
  const auto table = bytes_constant("rope.table.u16", counting_bytes(8 * 2));
  const auto lm_head = bytes_constant("model.embed_tokens.weight.i8",
                                      counting_bytes(packed_constant_bytes(20, 8)), Layout::packed);
  Encoding channels{DType::i8, std::vector<float>(20), 0, 0};
  std::iota(channels.scale.begin(), channels.scale.end(), 0.5f);

  Model model;
  for (const auto& [role, tokens] : {std::pair("decode", 1), std::pair("prefill", 4)}) {
    Graph graph = parse_graph(fmt::format(kGraph, role, tokens, 8 - tokens));
    graph.set_constant(graph.find("embed"), embed);
    graph.set_constant(graph.find("table"), table);
    graph.set_constant(graph.find("lm_head"), lm_head);
    graph.set_value_type(graph.find("lm_head"), DType::i8, channels);
    model.graphs.push_back(std::move(graph));
  }
  model.text = {R"({"model": {}})", R"({"bos_token": "<s>"})", "{{ messages }}\n"};
  model.generation = {{2, 19}, 1};
  model.facts = {"llama", 20, 1, 8};
  model.recipe_json = R"({"name": "default-16a8w"})";
  model.provenance = {"0123456789abcdef0123456789abcdef", "tiny", "0.1.0", {{"kv_bits", 8}}};
  return model;
}

void repack(const std::filesystem::path& from, const std::filesystem::path& to,
            const std::function<void(Metadata&)>& change) {
  const SafetensorsFile file = SafetensorsFile::open(from);
  Metadata metadata = file.metadata();
  const std::span<const std::byte> graphs = file.bytes(file.get(kGraphsName));
  metadata["lathe.graphs"] = {reinterpret_cast<const char*>(graphs.data()), graphs.size()};
  change(metadata);
  std::vector<StoredTensor> small;
  std::vector<StoredTensor> weights;
  const auto changed = metadata.extract("lathe.graphs");
  if (changed) {
    const std::string& text = changed.mapped();
    small.push_back({std::string(kGraphsName),
                     DType::u8,
                     {static_cast<int64_t>(text.size())},
                     std::as_bytes(std::span(text))});
  }
  for (const SafetensorsEntry& entry : file.entries()) {
    if (entry.name.starts_with("lathe.") || entry.name == kGraphsName) continue;
    const bool is_small = entry.begin < file.get(kChecksumName).begin;
    (is_small ? small : weights)
        .push_back({entry.name, entry.dtype.value(), entry.shape, file.bytes(entry)});
  }
  write_container(to, metadata, small, weights);
}

}  // namespace lathe::testing
