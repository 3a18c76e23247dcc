#include "quant/one_layer.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include "executors/reference/evaluator.h"
#include "graph/text.h"

namespace lathe::test {

std::string one_layer_text(GraphRole role, int64_t tokens_per_call, int64_t context) {
  constexpr const char* kText = R"(graph {role} ar={ar} cl={cl}
  input %tokens : i32[1, {ar}]
  input %attention_mask : f32[1, 1, {ar}, {cl}]
  input %position : i32[1, {ar}]
  input %k_cache_0 : f32[1, 1, 4, {past}]
  input %v_cache_0 : f32[1, 1, {past}, 4]
  const %embed : f32[11, 8]
  const %cos_table : f32[{cl}, 4]
  const %sin_table : f32[{cl}, 4]
  const %norm : f32[8]
  const %wq : f32[8, 8]
  const %wk : f32[4, 8]
  const %wv : f32[4, 8]
  const %bv : f32[4]
  const %wo : f32[8, 8]
  const %gate : f32[12, 8]
  const %up : f32[12, 8]
  const %down : f32[8, 12]
  %hidden = aten.embedding(%embed, %tokens)
  %cos_rows = aten.embedding(%cos_table, %position)
  %cos = aten.unsqueeze(%cos_rows) {dim=1}
  %sin_rows = aten.embedding(%sin_table, %position)
  %sin = aten.unsqueeze(%sin_rows) {dim=1}
  %normed = lathe.rms_norm(%hidden, %norm) {eps=1e-05} @ layers.0.input_layernorm
  %q = aten.linear(%normed, %wq) @ layers.0.q_proj
  %q_view = aten.view(%q) {sizes=[1, {ar}, 2, 4]} @ layers.0
  %q_heads = aten.transpose(%q_view) {dim0=1, dim1=2} @ layers.0
  %k = aten.linear(%normed, %wk) @ layers.0.k_proj
  %k_view = aten.view(%k) {sizes=[1, {ar}, 1, 4]} @ layers.0
  %k_heads = aten.transpose(%k_view) {dim0=1, dim1=2} @ layers.0
  %v = aten.linear(%normed, %wv, %bv) @ layers.0.v_proj
  %v_view = aten.view(%v) {sizes=[1, {ar}, 1, 4]} @ layers.0
  %v_heads = aten.transpose(%v_view) {dim0=1, dim1=2} @ layers.0
  %q_cos = aten.mul(%q_heads, %cos) @ layers.0
  %q_low = aten.slice(%q_heads) {dim=3, start=0, end=2, step=1} @ layers.0
  %q_high = aten.slice(%q_heads) {dim=3, start=2, end=4, step=1} @ layers.0
  %q_neg = aten.neg(%q_high) @ layers.0
  %q_half = aten.cat(%q_neg, %q_low) {dim=3} @ layers.0
  %q_sin = aten.mul(%q_half, %sin) @ layers.0
  %q_rope = aten.add(%q_cos, %q_sin) @ layers.0
  %k_cos = aten.mul(%k_heads, %cos) @ layers.0
  %k_low = aten.slice(%k_heads) {dim=3, start=0, end=2, step=1} @ layers.0
  %k_high = aten.slice(%k_heads) {dim=3, start=2, end=4, step=1} @ layers.0
  %k_neg = aten.neg(%k_high) @ layers.0
  %k_half = aten.cat(%k_neg, %k_low) {dim=3} @ layers.0
  %k_sin = aten.mul(%k_half, %sin) @ layers.0
  %k_rope = aten.add(%k_cos, %k_sin) @ layers.0
  %k_new = aten.transpose(%k_rope) {dim0=2, dim1=3} @ layers.0
  %k_all = aten.cat(%k_cache_0, %k_new) {dim=3} @ layers.0
  %k_group = aten.unsqueeze(%k_all) {dim=2} @ layers.0
  %k_expand = aten.expand(%k_group) {sizes=[1, 1, 2, 4, {cl}]} @ layers.0
  %k_repeat = aten.reshape(%k_expand) {sizes=[1, 2, 4, {cl}]} @ layers.0
  %v_all = aten.cat(%v_cache_0, %v_heads) {dim=2} @ layers.0
  %v_group = aten.unsqueeze(%v_all) {dim=2} @ layers.0
  %v_expand = aten.expand(%v_group) {sizes=[1, 1, 2, {cl}, 4]} @ layers.0
  %v_repeat = aten.reshape(%v_expand) {sizes=[1, 2, {cl}, 4]} @ layers.0
  %scores = aten.matmul(%q_rope, %k_repeat) @ layers.0
  %scaled = aten.mul(%scores) {other=0.5} @ layers.0
  %masked = aten.add(%scaled, %attention_mask) @ layers.0
  %weights = aten.softmax(%masked) {dim=-1} @ layers.0
  %mixed = aten.matmul(%weights, %v_repeat) @ layers.0
  %mixed_rows = aten.transpose(%mixed) {dim0=1, dim1=2} @ layers.0
  %joined = aten.reshape(%mixed_rows) {sizes=[1, {ar}, 8]} @ layers.0
  %o = aten.linear(%joined, %wo) @ layers.0.o_proj
  %attended = aten.add(%hidden, %o) @ layers.0
  %g = aten.linear(%attended, %gate) @ layers.0.gate_proj
  %act = aten.silu(%g) @ layers.0
  %u = aten.linear(%attended, %up) @ layers.0.up_proj
  %product = aten.mul(%act, %u) @ layers.0
  %d = aten.linear(%product, %down) @ layers.0.down_proj
  %out = aten.add(%attended, %d) @ layers.0
  %logits = aten.linear(%out, %embed) @ lm_head
  output logits = %logits
  output k_new_0 = %k_new
  output v_new_0 = %v_heads
)";
  std::string text = kText;
  const auto put = [&](const std::string& mark, const std::string& value) {
    for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark)) {
      text.replace(at, mark.size(), value);
    }
  };
  put("{role}", std::string(name_of(role)));
  put("{ar}", std::to_string(tokens_per_call));
  put("{cl}", std::to_string(context));
  put("{past}", std::to_string(context - tokens_per_call));
  return text;
}

std::shared_ptr<const Constant> one_layer_weight(const std::string& name, const Shape& shape) {
  std::vector<float> values(static_cast<size_t>(elements(shape)));
  uint32_t state = 1;
  for (const char c : name) state = state * 31 + static_cast<uint8_t>(c);
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(static_cast<int32_t>(state >> 8) - (1 << 23)) * 0x1p-23f;
  }
  return float_constant(name, std::move(values));
}

Graph one_layer(GraphRole role, int64_t tokens_per_call, int64_t context) {
  Graph graph = parse_graph(one_layer_text(role, tokens_per_call, context));
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    const Value& value = graph.value(id);
    if (value.is_constant()) {
      graph.set_constant(id, one_layer_weight(value.name, value.shape));
    }
  }
  return graph;
}

void run_one_layer(const CalibrationBatch& batch, const FloatObserver& observer) {
  const std::vector<int64_t>& tokens = batch.tokens;
  const auto length = static_cast<int64_t>(tokens.size());
  Evaluator evaluator(std::make_shared<Graph>(one_layer(GraphRole::calibrate, length, length)));
  std::vector<int32_t> ids(tokens.begin(), tokens.end());
  std::vector<int32_t> position(tokens.size());
  std::iota(position.begin(), position.end(), 0);
  std::vector<float> mask(tokens.size() * tokens.size(), 0.0f);  // [length, length]
  for (size_t row = 0; row < tokens.size(); ++row) {
    for (size_t column = row + 1; column < tokens.size(); ++column) {
      mask[row * tokens.size() + column] = -255.0f;
    }
  }
  evaluator.bind_input("tokens", dense_view(DType::i32, {1, length}, ids.data()));
  evaluator.bind_input("position", dense_view(DType::i32, {1, length}, position.data()));
  evaluator.bind_input("attention_mask",
                       dense_view(DType::f32, {1, 1, length, length}, mask.data()));
  evaluator.observe([&](ValueId id, const TensorView& view) {
    if (view.dtype != DType::f32) return;
    observer(id, {view.as<const float>(), static_cast<size_t>(elements(view.shape))});
  });
  evaluator.run();
}

}  // namespace lathe::test
