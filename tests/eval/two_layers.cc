#include "eval/two_layers.h"

#include <cstring>
#include <string>

#include "graph/text.h"

namespace lathe::testing {
namespace {

constexpr const char* kText = R"(
    graph decode ar=1 cl=4
    input %tokens : i32[1, 1]
    input %attention_mask : u16[1, 1, 1, 4]<0.0038910506, 65535>
    input %position : i32[1, 1]
    input %k_cache_0 : u8[1, 1, 2, 3]<1, 128>
    input %v_cache_0 : u8[1, 1, 3, 2]<1, 128>
    const %table : u16[2, 2]<0.5, 100>
    const %shift : u16[2]<0.5, 100>
    %row = aten.embedding(%table, %tokens) : u16[1, 1, 2]<0.5, 100> @ model.embed_tokens
    %narrow = lathe.requantize(%row) : u8[1, 1, 2]<1, 128> @ model.layers.0.self_attn
    %k = aten.reshape(%narrow) {sizes=[1, 1, 2, 1]} : u8[1, 1, 2, 1]<1, 128> @ model.layers.0.self_attn
    %v = aten.reshape(%narrow) {sizes=[1, 1, 1, 2]} : u8[1, 1, 1, 2]<1, 128> @ model.layers.0.self_attn
    %seen = lathe.requantize(%k_cache_0) : u16[1, 1, 2, 3]<1, 100> @ model.layers.0.self_attn
    %first = aten.add(%row, %row) : u16[1, 1, 2]<0.5, 100> @ model.layers.0.mlp
    %shifted = aten.add(%first, %shift) : u16[1, 1, 2]<0.5, 100> @ model.layers.1.mlp
    %second = aten.add(%shifted, %first) : u16[1, 1, 2]<0.5, 100> @ model.layers.1
    %sum = aten.add(%second, %row) : u16[1, 1, 2]<0.5, 100> @ lm_head
    output logits = %sum
    output k_new_0 = %k
    output v_new_0 = %v)";

void set_codes(Graph& graph, const char* name, const std::vector<uint16_t>& codes) {
  std::vector<std::byte> bytes(codes.size() * sizeof(uint16_t));
  std::memcpy(bytes.data(), codes.data(), bytes.size());
  graph.set_constant(graph.find(name), bytes_constant(name, std::move(bytes)));
}

}  // namespace

Graph TwoLayers::graph() const {
  Graph graph = parse_graph(kText);
  set_codes(graph, "table", table);
  set_codes(graph, "shift", shift);
  return graph;
}

}  // namespace lathe::testing
