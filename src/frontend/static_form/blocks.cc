#include "frontend/static_form/blocks.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

#include "graph/fixed_encodings.h"
#include "graph/head_rotation.h"
#include "graph/rotary_table.h"

namespace lathe::static_form {
namespace {

using Dims = std::vector<int64_t>;

/// Rows of a table [CL, D / 2] at the positions of the call: [1, 1, AR, D / 2].
ValueId rotary_rows(ModuleBuilder& b, const Call& call, Op function,
                    const std::vector<float>& inverse_frequencies, double scaling) {
  const Shape shape{call.shape.context, static_cast<int64_t>(inverse_frequencies.size())};
  const ValueId table =
      b.buffer(function == Op::cos ? "cos_table" : "sin_table", shape,
               rotary_table(function, inverse_frequencies, call.shape.context, scaling));
  return b.unsqueeze(b.apply(Op::embedding, {table, call.position}), 1);
}

/// A projection as heads: channels [1, E, 1, AR] -> [1, heads, AR, D].
ValueId project_heads(ModuleBuilder& b, const std::string& name, ValueId x) {
  const ModelConfig& config = b.config();
  const int64_t tokens = b.shape(x)[3];
  const ValueId projected = b.conv2d(name, x, config.qkv_bias);
  const int64_t heads = b.shape(projected)[1] / config.head_dim;
  ValueId rows = kNone;  // [1, AR, heads * D, 1]
  {
    const ModuleBuilder::Scope scope(b, name);
    rows = b.permute(projected, {0, 3, 1, 2});
  }
  return b.transpose(b.reshape(rows, {1, tokens, heads, config.head_dim}), 1, 2);
}

/// [x1 cos - x2 sin | x2 cos + x1 sin] for x = [x1 | x2], [1, heads, AR, D].
ValueId rope(ModuleBuilder& b, const Call& call, ValueId x) {
  const int64_t width = b.shape(x)[3];
  const ValueId x1 = b.slice(x, 3, 0, width / 2);
  const ValueId x2 = b.slice(x, 3, width / 2, width);
  const ValueId x1_cos = b.mul(x1, call.cos);
  const ValueId x2_sin = b.mul(x2, call.sin);
  const ValueId low = b.apply(Op::sub, {x1_cos, x2_sin});
  const ValueId x2_cos = b.mul(x2, call.cos);
  const ValueId x1_sin = b.mul(x1, call.sin);
  return b.cat({low, b.add(x2_cos, x1_sin)}, 3);
}

bool rotates_by_matrix(const ModuleBuilder& b, const Call& call) {
  return call.form.r3 && !std::has_single_bit(static_cast<uint64_t>(b.config().head_dim));
}

/// Every head of x [1, heads, AR, D] times the fixed rotation, [1, D, heads, AR] permuted by
/// `dims`.
ValueId rotate_by_matrix(ModuleBuilder& b, ValueId x, Dims dims) {
  const int64_t width = b.shape(x)[3];
  ValueId weight = b.graph().find("head_rotation");
  if (weight == kNone) {
    weight = b.graph().add_constant("head_rotation", DType::f32, {width, width, 1, 1},
                                    head_rotation(width));
  }
  const ValueId channels = b.permute(x, {0, 3, 1, 2});
  return b.permute(b.apply(Op::conv2d, {channels, weight}), std::move(dims));
}

/// [1, H, AR, D] after RoPE -> the same, rotated where r3 asks for it.
ValueId rotated_queries(ModuleBuilder& b, const Call& call, ValueId x) {
  if (rotates_by_matrix(b, call)) return rotate_by_matrix(b, x, {0, 2, 3, 1});
  return call.form.r3 ? b.apply(Op::hadamard, {x}) : x;
}

/// [1, Hkv, AR, D] after RoPE -> [1, Hkv, D, AR], rotated where r3 asks for it.
ValueId rotated_transposed_keys(ModuleBuilder& b, const Call& call, ValueId x) {
  if (rotates_by_matrix(b, call)) return rotate_by_matrix(b, x, {0, 2, 1, 3});
  return b.transpose(call.form.r3 ? b.apply(Op::hadamard, {x}) : x, 2, 3);
}

/// [1, Hkv, a, b] -> [1, H, a, b]: every key-value head stands for H / Hkv query heads.
ValueId repeat_kv(ModuleBuilder& b, ValueId x) {
  const int64_t groups = b.config().heads / b.config().kv_heads;
  if (groups == 1) return x;
  const Shape shape = b.shape(x);
  const ValueId expanded =
      b.expand(b.unsqueeze(x, 2), {shape[0], shape[1], groups, shape[2], shape[3]});
  return b.reshape(expanded, {shape[0], shape[1] * groups, shape[2], shape[3]});
}

/// Softmax of scores [1, H, AR, CL] under the mask.
ValueId probabilities(ModuleBuilder& b, const Call& call, ValueId scores) {
  Attributes attributes{{"dim", int64_t{-1}}};
  if (!call.form.masked_softmax) {
    return b.apply(Op::softmax, {b.add(scores, call.mask)}, std::move(attributes));
  }
  attributes.set("below", masked_score_below());
  return b.apply(Op::masked_softmax, {scores, call.mask}, std::move(attributes));
}

ValueId activation(ModuleBuilder& b, const Call& call, ValueId x) {
  const ModuleBuilder::Scope scope(b, "act_fn");
  if (!call.form.decomposed_silu) return b.apply(Op::silu, {x});
  return b.mul(x, b.apply(Op::sigmoid, {x}));
}

}  // namespace

Call call_inputs(ModuleBuilder& b, const GraphShape& shape, const StaticForm& form) {
  const ModelConfig& config = b.config();
  const int64_t tokens = shape.tokens_per_call;
  const int64_t past = shape.context - tokens;
  Graph& graph = b.graph();
  Call call;
  call.shape = shape;
  call.form = form;
  call.tokens = graph.add_input("tokens", DType::i32, {1, tokens});
  call.mask = graph.add_input("attention_mask", DType::f32, {1, 1, tokens, shape.context});
  call.position = graph.add_input("position", DType::i32, {1, tokens});
  call.caches.resize(static_cast<size_t>(config.layers));
  call.fresh.resize(static_cast<size_t>(config.layers));
  for (size_t i = 0; i < call.caches.size(); ++i) {
    call.caches[i].keys = graph.add_input(fmt::format("k_cache_{}", i), DType::f32,
                                          {1, config.kv_heads, config.head_dim, past});
  }
  for (size_t i = 0; i < call.caches.size(); ++i) {
    call.caches[i].values = graph.add_input(fmt::format("v_cache_{}", i), DType::f32,
                                            {1, config.kv_heads, past, config.head_dim});
  }
  return call;
}

void call_outputs(ModuleBuilder& b, const Call& call, ValueId logits) {
  Graph& graph = b.graph();
  graph.add_output("logits", logits);
  for (size_t i = 0; i < call.fresh.size(); ++i) {
    graph.add_output(fmt::format("k_new_{}", i), call.fresh[i].keys);
  }
  for (size_t i = 0; i < call.fresh.size(); ++i) {
    graph.add_output(fmt::format("v_new_{}", i), call.fresh[i].values);
  }
}

void rotary_embedding(ModuleBuilder& b, Call& call, const std::vector<float>& inverse_frequencies,
                      double scaling) {
  const ModuleBuilder::Scope scope(b, "rotary_emb");
  call.cos = rotary_rows(b, call, Op::cos, inverse_frequencies, scaling);
  call.sin = rotary_rows(b, call, Op::sin, inverse_frequencies, scaling);
}

ValueId rms_norm(ModuleBuilder& b, const std::string& name, ValueId x) {
  const ModuleBuilder::Scope scope(b, name);
  return b.apply(Op::rms_norm, {x, b.parameter("weight")}, {{"eps", b.config().rms_norm_eps}});
}

ValueId channels_first(ModuleBuilder& b, ValueId rows) {
  const Shape& shape = b.shape(rows);
  const int64_t tokens = shape[1];
  const ValueId columns = b.reshape(rows, {1, tokens, elements(shape) / tokens, 1});
  return b.permute(columns, {0, 2, 3, 1});
}

ValueId rows_of(ModuleBuilder& b, ValueId channels) {
  const Shape shape = b.shape(channels);  // [1, N, 1, AR]
  return b.reshape(b.permute(channels, {0, 3, 1, 2}), {1, shape[3], shape[1]});
}

ValueId attention(ModuleBuilder& b, Call& call, size_t layer, ValueId x) {
  const ModuleBuilder::Scope scope(b, "self_attn");
  const ModelConfig& config = b.config();
  const LayerPair& cache = call.caches[layer];
  LayerPair& fresh = call.fresh[layer];

  ValueId channels = kNone;  // [1, E, 1, AR]
  {
    const ModuleBuilder::Scope first(b, "q_proj");
    channels = channels_first(b, x);
  }
  const ValueId query = project_heads(b, "q_proj", channels);  // [1, H, AR, D]
  const ValueId key = project_heads(b, "k_proj", channels);    // [1, Hkv, AR, D]
  fresh.values = project_heads(b, "v_proj", channels);         // [1, Hkv, AR, D]
  const ValueId turned_query = rotated_queries(b, call, rope(b, call, query));
  fresh.keys = rotated_transposed_keys(b, call, rope(b, call, key));  // [1, Hkv, D, AR]

  const ValueId keys = repeat_kv(b, b.cat({cache.keys, fresh.keys}, 3));        // [1, H, D, CL]
  const ValueId values = repeat_kv(b, b.cat({cache.values, fresh.values}, 2));  // [1, H, CL, D]
  const ValueId products = b.apply(Op::matmul, {turned_query, keys});
  const double scaling = 1.0 / std::sqrt(static_cast<double>(config.head_dim));
  const ValueId weights = probabilities(b, call, b.mul(products, scaling));  // [1, H, AR, CL]
  const ValueId mixed = b.apply(Op::matmul, {weights, values});              // [1, H, AR, D]
  const ValueId joined = b.transpose(mixed, 1, 2);                           // [1, AR, H, D]
  ValueId into_output = kNone;                                               // [1, H * D, 1, AR]
  {
    const ModuleBuilder::Scope output(b, "o_proj");
    into_output = channels_first(b, joined);
  }
  const ValueId projected = b.conv2d("o_proj", into_output, config.output_bias);
  const ModuleBuilder::Scope output(b, "o_proj");
  return rows_of(b, projected);
}

ValueId gated_mlp(ModuleBuilder& b, const Call& call, ValueId x) {
  const ModuleBuilder::Scope scope(b, "mlp");
  const bool bias = b.config().mlp_bias;
  ValueId channels = kNone;  // [1, E, 1, AR]
  {
    const ModuleBuilder::Scope first(b, "gate_proj");
    channels = channels_first(b, x);
  }
  const ValueId gate = activation(b, call, b.conv2d("gate_proj", channels, bias));
  const ValueId product = b.mul(gate, b.conv2d("up_proj", channels, bias));
  const ValueId projected = b.conv2d("down_proj", product, bias);
  const ModuleBuilder::Scope last(b, "down_proj");
  return rows_of(b, projected);
}

}  // namespace lathe::static_form
