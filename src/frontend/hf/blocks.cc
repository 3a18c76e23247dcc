#include "frontend/hf/blocks.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

namespace lathe::hf {
namespace {

constexpr int64_t kToTheEnd = std::numeric_limits<int64_t>::max();

/// x * cos + rotate_half(x) * sin, where rotate_half([a | b]) = [-b | a]. x is [1, heads, AR, D].
ValueId rotate(ModuleBuilder& b, ValueId x, ValueId cos, ValueId sin) {
  const int64_t half = b.shape(x).back() / 2;
  const ValueId straight = b.mul(x, cos);
  const ValueId first = b.slice(x, 3, 0, half);
  const ValueId second = b.slice(x, 3, half, kToTheEnd);
  const ValueId turned = b.cat({b.apply(Op::neg, {second}), first}, -1);
  return b.add(straight, b.mul(turned, sin));
}

/// [1, Hkv, CL, D] -> [1, H, CL, D]: every key-value head stands for H / Hkv query heads.
ValueId repeat_kv(ModuleBuilder& b, ValueId x, int64_t groups) {
  if (groups == 1) return x;
  const Shape shape = b.shape(x);
  const ValueId expanded =
      b.expand(b.unsqueeze(x, 2), {shape[0], shape[1], groups, shape[2], shape[3]});
  return b.reshape(expanded, {shape[0], shape[1] * groups, shape[2], shape[3]});
}

/// A projection as heads: [1, AR, E] -> [1, heads, AR, D].
ValueId project_heads(ModuleBuilder& b, const std::string& name, ValueId x) {
  const ModelConfig& config = b.config();
  const Shape sizes{1, b.shape(x)[1], -1, config.head_dim};
  return b.transpose(b.view(b.linear(name, x, config.qkv_bias), sizes), 1, 2);
}

}  // namespace

std::vector<LayerCache> cache_inputs(ModuleBuilder& b, const GraphShape& shape,
                                     ValueId cache_position) {
  const ModelConfig& config = b.config();
  const Shape cache_shape{1, config.kv_heads, shape.context, config.head_dim};
  std::vector<LayerCache> caches;
  for (int64_t i = 0; i < config.layers; ++i) {
    const std::string name = fmt::format("static_cache.layers.{}", i);
    LayerCache cache;
    cache.keys = b.graph().add_input(name + ".keys", DType::f32, cache_shape);
    cache.values = b.graph().add_input(name + ".values", DType::f32, cache_shape);
    const ValueId length = b.graph().add_input(name + ".cumulative_length", DType::i64, Shape{});
    const ValueId first =
        b.apply(Op::select, {cache_position}, {{"dim", int64_t{0}}, {"index", int64_t{0}}});
    cache.filled = b.apply(Op::copy_, {length, first});
    caches.push_back(cache);
  }
  return caches;
}

void positions_and_mask(ModuleBuilder& b, CallContext& call) {
  const int64_t tokens = call.shape.tokens_per_call;
  LayerCache& first = call.caches.front();
  call.position_ids = b.unsqueeze(b.add(b.arange(tokens), first.filled), 0);
  first.filled = b.to(first.filled, DType::i64);
  // The mask helpers make two ranges whose values nothing reads.
  b.arange(tokens);
  b.arange(tokens);
  const ValueId query = b.add(b.arange(tokens), first.filled);   // [AR]
  const ValueId key = b.add(b.arange(call.shape.context), 0.0);  // [CL]
  const ValueId query_index =
      b.unsqueeze(b.unsqueeze(b.unsqueeze(query, 0), 1), 3);                      // [1, 1, AR, 1]
  const ValueId key_index = b.unsqueeze(b.unsqueeze(b.unsqueeze(key, 0), 1), 2);  // [1, 1, 1, CL]
  const ValueId visible =
      b.expand(b.apply(Op::le, {key_index, query_index}), {1, -1, tokens, call.shape.context});
  const ValueId zero = b.apply(Op::zeros, {}, {{"sizes", Shape{}}});
  const double lowest = std::numeric_limits<float>::lowest();
  call.mask = b.apply(Op::where, {visible, zero}, {{"other", lowest}});
}

void rotary_embedding(ModuleBuilder& b, CallContext& call, std::vector<float> inverse_frequencies,
                      double scaling) {
  const ModuleBuilder::Scope scope(b, "rotary_emb");
  const Shape shape{static_cast<int64_t>(inverse_frequencies.size())};
  const ValueId frequencies = b.buffer("inv_freq", shape, std::move(inverse_frequencies));
  const ValueId positions = b.to(b.unsqueeze(call.position_ids, 2), DType::f32);  // [1, AR, 1]
  const ValueId angles = b.mul(positions, b.to(frequencies, DType::f32));         // [1, AR, D/2]
  const ValueId both = b.cat({angles, angles}, -1);                               // [1, AR, D]
  const ValueId cos = b.mul(b.apply(Op::cos, {both}), scaling);
  const ValueId sin = b.mul(b.apply(Op::sin, {both}), scaling);
  call.cos = b.to(cos, DType::f32);
  call.sin = b.to(sin, DType::f32);
}

Normalized rms_norm(ModuleBuilder& b, const std::string& name, ValueId x) {
  const ModuleBuilder::Scope scope(b, name);
  const ValueId input = b.to(x, DType::f32);
  const ValueId squares = b.apply(Op::pow, {input}, {{"exponent", int64_t{2}}});
  const ValueId mean = b.apply(Op::mean, {squares}, {{"dim", int64_t{-1}}});
  const ValueId scale = b.apply(Op::rsqrt, {b.add(mean, b.config().rms_norm_eps)});
  const ValueId normalized = b.to(b.mul(input, scale), DType::f32);
  return {input, b.mul(b.parameter("weight"), normalized)};
}

ValueId attention(ModuleBuilder& b, const CallContext& call, size_t layer, ValueId x) {
  const ModuleBuilder::Scope scope(b, "self_attn");
  const ModelConfig& config = b.config();
  const LayerCache& cache = call.caches[layer];
  const int64_t tokens = call.shape.tokens_per_call;

  const ValueId query = project_heads(b, "q_proj", x);  // [1, H, AR, D]
  const ValueId key = project_heads(b, "k_proj", x);    // [1, Hkv, AR, D]
  const ValueId value = project_heads(b, "v_proj", x);  // [1, Hkv, AR, D]
  const ValueId cos = b.unsqueeze(call.cos, 1);         // [1, 1, AR, D]
  const ValueId sin = b.unsqueeze(call.sin, 1);
  const ValueId turned_query = rotate(b, query, cos, sin);
  const ValueId turned_key = rotate(b, key, cos, sin);

  const ValueId slots = b.add(b.arange(tokens), cache.filled);  // [AR]
  b.apply(Op::add_, {cache.filled}, {{"other", tokens}});
  const Attributes along{{"dim", int64_t{2}}};
  const ValueId keys = b.apply(Op::index_copy_, {cache.keys, slots, turned_key}, along);
  const ValueId values = b.apply(Op::index_copy_, {cache.values, slots, value}, along);
  b.graph().add_output(fmt::format("layers.{}.keys", layer), keys);
  b.graph().add_output(fmt::format("layers.{}.values", layer), values);

  const int64_t groups = config.heads / config.kv_heads;
  const ValueId all_keys = repeat_kv(b, keys, groups);      // [1, H, CL, D]
  const ValueId all_values = repeat_kv(b, values, groups);  // [1, H, CL, D]
  const ValueId products = b.apply(Op::matmul, {turned_query, b.transpose(all_keys, 2, 3)});
  const double scaling = 1.0 / std::sqrt(static_cast<double>(config.head_dim));
  const ValueId scores = b.add(b.mul(products, scaling), call.mask);  // [1, H, AR, CL]
  const ValueId weights = b.to(b.apply(Op::softmax, {scores}, {{"dim", int64_t{-1}}}), DType::f32);
  const ValueId mixed = b.apply(Op::matmul, {b.apply(Op::dropout, {weights}), all_values});
  const ValueId joined = b.reshape(b.transpose(mixed, 1, 2), {1, tokens, -1});
  return b.linear("o_proj", joined, config.output_bias);
}

ValueId gated_mlp(ModuleBuilder& b, ValueId x) {
  const ModuleBuilder::Scope scope(b, "mlp");
  const bool bias = b.config().mlp_bias;
  const ValueId gate = b.linear("gate_proj", x, bias);
  ValueId activated = kNone;
  {
    const ModuleBuilder::Scope act(b, "act_fn");
    activated = b.apply(Op::silu, {gate});
  }
  return b.linear("down_proj", b.mul(activated, b.linear("up_proj", x, bias)), bias);
}

}  // namespace lathe::hf
