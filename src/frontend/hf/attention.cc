#include <fmt/format.h>

#include <utility>

#include "frontend/hf/blocks.h"

namespace lathe::hf {
namespace {

/// [1, Hkv, CL, D] -> [1, H, CL, D]: every key-value head stands for H / Hkv query heads.
ValueId repeat_kv(ModuleBuilder& b, ValueId x, int64_t groups) {
  if (groups == 1) return x;
  const Shape shape = b.shape(x);
  const ValueId expanded =
      b.expand(b.unsqueeze(x, 2), {shape[0], shape[1], groups, shape[2], shape[3]});
  return b.reshape(expanded, {shape[0], shape[1] * groups, shape[2], shape[3]});
}

/// Rows [1, AR, heads * D] -> [1, AR, heads, D].
ValueId view_heads(ModuleBuilder& b, ValueId rows) {
  return b.view(rows, {1, b.shape(rows)[1], -1, b.config().head_dim});
}

/// Rows [1, AR, heads * D] -> [1, heads, AR, D].
ValueId split_heads(ModuleBuilder& b, ValueId rows) {
  return b.transpose(view_heads(b, rows), 1, 2);
}

ValueId project_rows(ModuleBuilder& b, const std::string& name, ValueId x) {
  return b.linear(name, x, b.config().qkv_bias);
}

ValueId norm(ModuleBuilder& b, const std::string& name, ValueId x) {
  if (b.config().norm_adds_one) return gemma_norm(b, name, x).output;
  return rms_norm(b, name, x).output;
}

}  // namespace

Heads project(ModuleBuilder& b, ValueId x) {
  const ValueId query = split_heads(b, project_rows(b, "q_proj", x));
  const ValueId key = split_heads(b, project_rows(b, "k_proj", x));
  return {query, key, split_heads(b, project_rows(b, "v_proj", x))};
}

Heads project_and_norm(ModuleBuilder& b, ValueId x) {
  const auto normalized = [&](const std::string& projection, const std::string& name) {
    return b.transpose(norm(b, name, view_heads(b, project_rows(b, projection, x))), 1, 2);
  };
  const ValueId query = normalized("q_proj", "q_norm");
  const ValueId key = normalized("k_proj", "k_norm");
  return {query, key, split_heads(b, project_rows(b, "v_proj", x))};
}

Heads project_then_norm(ModuleBuilder& b, ValueId x) {
  const Heads heads = project(b, x);
  const ValueId query = norm(b, "q_norm", heads.query);
  return {query, norm(b, "k_norm", heads.key), heads.value};
}

Heads project_and_norm_whole(ModuleBuilder& b, ValueId x) {
  const ValueId query = olmo2_norm(b, "q_norm", project_rows(b, "q_proj", x)).output;
  const ValueId key = olmo2_norm(b, "k_norm", project_rows(b, "k_proj", x)).output;
  const ValueId value = project_rows(b, "v_proj", x);
  const ValueId query_heads = split_heads(b, query);
  const ValueId key_heads = split_heads(b, key);
  return {query_heads, key_heads, split_heads(b, value)};
}

Heads project_packed(ModuleBuilder& b, ValueId x) {
  const ModelConfig& config = b.config();
  const int64_t keys_from = config.heads * config.head_dim;
  const int64_t values_from = keys_from + config.kv_heads * config.head_dim;
  const ValueId all = project_rows(b, "qkv_proj", x);
  const ValueId query = b.slice(all, 2, 0, keys_from);
  const ValueId key = b.slice(all, 2, keys_from, values_from);
  const ValueId value = b.slice(all, 2, values_from, kToTheEnd);
  const ValueId query_heads = split_heads(b, query);
  const ValueId key_heads = split_heads(b, key);
  return {query_heads, key_heads, split_heads(b, value)};
}

ValueId attention(ModuleBuilder& b, const CallContext& call, size_t layer, ValueId x,
                  const AttentionForm& form) {
  const ModuleBuilder::Scope scope(b, "self_attn");
  const ModelConfig& config = b.config();
  const LayerCache& cache = call.caches[layer];
  const bool sliding = config.layer_configs[layer].sliding;
  const int64_t tokens = call.shape.tokens_per_call;

  Heads heads = form.project(b, x);
  if (config.layer_configs[layer].rotary) {
    form.rotate(b, sliding ? call.local_rotation : call.rotation, heads);
  }

  const ValueId slots = b.add(b.arange(tokens), cache.filled);  // [AR]
  b.apply(Op::add_, {cache.filled}, {{"other", tokens}});
  const Attributes along{{"dim", int64_t{2}}};
  const ValueId keys = b.apply(Op::index_copy_, {cache.keys, slots, heads.key}, along);
  const ValueId values = b.apply(Op::index_copy_, {cache.values, slots, heads.value}, along);
  b.graph().add_output(fmt::format("layers.{}.keys", layer), keys);
  b.graph().add_output(fmt::format("layers.{}.values", layer), values);

  const int64_t groups = config.heads / config.kv_heads;
  const ValueId all_keys = repeat_kv(b, keys, groups);      // [1, H, CL, D]
  const ValueId all_values = repeat_kv(b, values, groups);  // [1, H, CL, D]
  const ValueId products = b.apply(Op::matmul, {heads.query, b.transpose(all_keys, 2, 3)});
  ValueId scores = b.mul(products, config.attention_scale);  // [1, H, AR, CL]
  if (config.attention_softcap) scores = b.softcapped(scores, *config.attention_softcap);
  const ValueId masked = b.add(scores, sliding ? call.window_mask : call.mask);
  const ValueId weights = b.to(b.apply(Op::softmax, {masked}, {{"dim", int64_t{-1}}}), DType::f32);
  const ValueId mixed = b.apply(Op::matmul, {b.apply(Op::dropout, {weights}), all_values});
  const ValueId joined = b.reshape(b.transpose(mixed, 1, 2), {1, tokens, -1});
  return b.linear("o_proj", joined, config.output_bias);
}

}  // namespace lathe::hf
