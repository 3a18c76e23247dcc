#pragma once

#include <memory>
#include <string>
#include <vector>

#include "executors/float/random_numbers.h"
#include "graph/graph.h"
#include "graph/text.h"

namespace lathe {

/// One layer of a Llama model over 80 tokens with random weights, in the form that the hf frontend
/// gives after its passes: 6 heads in 3 groups of 16, hidden size 96, 160 in the middle, 700
/// tokens.
inline std::shared_ptr<const Graph> small_llama() {
  Graph graph = parse_graph(R"(graph calibrate ar=80 cl=80
input %tokens : i32[1, 80]
input %mask : f32[1, 1, 80, 80]
const %table : f32[700, 96]
const %cos : f32[1, 1, 80, 16]
const %sin : f32[1, 1, 80, 16]
const %norm1 : f32[96]
const %norm2 : f32[96]
const %wq : f32[96, 96]
const %wk : f32[48, 96]
const %wv : f32[48, 96]
const %wo : f32[96, 96]
const %wgate : f32[160, 96]
const %wup : f32[160, 96]
const %wdown : f32[96, 160]
%x = aten.embedding(%table, %tokens)
%n = lathe.rms_norm(%x, %norm1) {eps=0.00001}
%q0 = aten.linear(%n, %wq)
%q1 = aten.view(%q0) {sizes=[1, 80, 6, 16]}
%q2 = aten.transpose(%q1) {dim0=1, dim1=2}
%qlow = aten.slice(%q2) {dim=-1, start=0, end=8}
%qhigh = aten.slice(%q2) {dim=-1, start=8, end=9223372036854775807}
%qneg = aten.neg(%qhigh)
%qrot = aten.cat(%qneg, %qlow) {dim=-1}
%qcos = aten.mul(%q2, %cos)
%qsin = aten.mul(%qrot, %sin)
%q = aten.add(%qcos, %qsin)
%k0 = aten.linear(%n, %wk)
%k1 = aten.view(%k0) {sizes=[1, 80, 3, 16]}
%k2 = aten.transpose(%k1) {dim0=1, dim1=2}
%k3 = aten.unsqueeze(%k2) {dim=2}
%k4 = aten.expand(%k3) {sizes=[1, 3, 2, 80, 16]}
%k5 = aten.reshape(%k4) {sizes=[1, 6, 80, 16]}
%k = aten.transpose(%k5) {dim0=2, dim1=3}
%v0 = aten.linear(%n, %wv)
%v1 = aten.view(%v0) {sizes=[1, 80, 3, 16]}
%v2 = aten.transpose(%v1) {dim0=1, dim1=2}
%v3 = aten.unsqueeze(%v2) {dim=2}
%v4 = aten.expand(%v3) {sizes=[1, 3, 2, 80, 16]}
%v = aten.reshape(%v4) {sizes=[1, 6, 80, 16]}
%s0 = aten.matmul(%q, %k)
%s1 = aten.mul(%s0) {other=0.25}
%s2 = aten.add(%s1, %mask)
%s = aten.softmax(%s2) {dim=-1}
%a0 = aten.matmul(%s, %v)
%a1 = aten.transpose(%a0) {dim0=1, dim1=2}
%a2 = aten.reshape(%a1) {sizes=[1, 80, 96]}
%a = aten.linear(%a2, %wo)
%h = aten.add(%x, %a)
%m0 = lathe.rms_norm(%h, %norm2) {eps=0.00001}
%gate0 = aten.linear(%m0, %wgate)
%gate = aten.silu(%gate0)
%up = aten.linear(%m0, %wup)
%m1 = aten.mul(%gate, %up)
%m = aten.linear(%m1, %wdown)
%out = aten.add(%h, %m)
%logits = aten.linear(%out, %table)
output logits = %logits
output hidden = %out
)");
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    if (!graph.value(id).is_constant()) continue;
    const std::string& name = graph.value(id).name;
    const auto count = static_cast<size_t>(elements(graph.value(id).shape));
    graph.set_constant(
        id, float_constant(name, random_numbers(count, 100 + static_cast<uint32_t>(id))));
  }
  return std::make_shared<const Graph>(std::move(graph));
}

/// The inputs of small_llama: token ids, and a causal mask of 0 and -255.
struct SmallLlamaInputs {
  std::vector<int32_t> tokens = std::vector<int32_t>(80);
  std::vector<float> mask = std::vector<float>(80 * 80, -255.0f);

  SmallLlamaInputs() {
    for (size_t i = 0; i < 80; ++i) {
      tokens[i] = static_cast<int32_t>(i * 331 % 700);
      for (size_t j = 0; j <= i; ++j) mask[i * 80 + j] = 0.0f;
    }
  }
  TensorView tokens_view() { return dense_view(DType::i32, {1, 80}, tokens.data()); }
  TensorView mask_view() { return dense_view(DType::f32, {1, 1, 80, 80}, mask.data()); }
};

}  // namespace lathe
