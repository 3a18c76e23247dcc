#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/static_form/blocks.h"
#include "graph/fixed_encodings.h"
#include "graph/head_rotation.h"

namespace lathe::static_form {
namespace {

using Dims = std::vector<int64_t>;

/// One of the projections in front of an attention.
struct HeadProjection {
  std::string name;
  std::optional<Channels> part = {};  ///< of a weight that holds others too
  std::string norm = {};              ///< of its heads, where the config has such norms
  bool in_pairs = false;              ///< the checkpoint has values side by side that turn together
};

/// x [1, E, 1, AR] -> channels [1, heads * D, 1, AR]
ValueId projected(ModuleBuilder& b, const HeadProjection& projection, ValueId x) {
  const bool bias = b.config().qkv_bias;
  if (projection.part) return b.conv2d_part(projection.name, x, bias, *projection.part);
  if (projection.in_pairs) return b.conv2d_halves(projection.name, x, bias);
  return b.conv2d(projection.name, x, bias);
}

/// Channels [1, E, 1, AR] -> heads [1, heads, AR, D], or as columns [1, heads, D, AR].
ValueId project_heads(ModuleBuilder& b, const HeadProjection& projection, ValueId x,
                      const AttentionForm& form, bool as_columns = false) {
  const ModelConfig& config = b.config();
  const int64_t tokens = b.shape(x)[3];
  const QkNorm norm = projection.norm.empty() ? QkNorm::none : config.qk_norm;
  const ValueId channels = projected(b, projection, x);
  const int64_t heads = b.shape(channels)[1] / config.head_dim;
  ValueId rows = kNone;  // [1, AR, heads * D, 1]
  {
    const ModuleBuilder::Scope scope(b, projection.name);
    rows = norm == QkNorm::whole ? rows_of(b, channels) : b.permute(channels, {0, 3, 1, 2});
  }
  const Shape shape{1, tokens, heads, config.head_dim};
  // A change of shape that has no other before it stays a view, as Hugging Face has it.
  ValueId by_token = norm == QkNorm::whole ? b.view(rms_norm(b, projection.norm, rows), shape)
                                           : b.reshape(rows, shape);
  const bool norm_first = form.head_norm == HeadNorm::before_transpose;
  if (norm == QkNorm::per_head && norm_first) by_token = rms_norm(b, projection.norm, by_token);
  if (as_columns) return b.permute(by_token, {0, 2, 3, 1});
  const ValueId by_head = b.transpose(by_token, 1, 2);
  return norm == QkNorm::per_head && !norm_first ? rms_norm(b, projection.norm, by_head) : by_head;
}

/// Queries [1, H, AR, D], keys and values [1, Hkv, AR, D]; keys that are stored as they are
/// projected as columns, [1, Hkv, D, AR].
struct Heads {
  ValueId query = kNone;
  ValueId key = kNone;
  ValueId value = kNone;
};

Heads project(ModuleBuilder& b, ValueId x, const AttentionForm& form, bool key_columns) {
  const ModelConfig& config = b.config();
  const bool in_pairs = config.interleaved_rotary;
  HeadProjection query{.name = "q_proj", .norm = "q_norm", .in_pairs = in_pairs};
  HeadProjection key{.name = "k_proj", .norm = "k_norm", .in_pairs = in_pairs};
  HeadProjection value{.name = "v_proj"};
  if (form.weights == Weights::packed) {
    const int64_t queries = config.heads * config.head_dim;
    const int64_t keys = config.kv_heads * config.head_dim;
    query.part = {.first = 0, .count = queries};
    key.part = {.first = queries, .count = keys};
    value.part = {.first = queries + keys, .count = keys};
    query.name = key.name = value.name = "qkv_proj";
  }
  ValueId channels = kNone;  // [1, E, 1, AR]
  {
    const ModuleBuilder::Scope first(b, query.name);
    channels = channels_first(b, x);
  }
  Heads heads;
  heads.query = project_heads(b, query, channels, form);
  heads.key = project_heads(b, key, channels, form, key_columns);
  heads.value = project_heads(b, value, channels, form);
  return heads;
}

/// [x1 cos - x2 sin | x2 cos + x1 sin | x3] for x = [x1 | x2 | x3], [1, heads, AR, D]; there is no
/// x3 where whole heads rotate.
ValueId rope(ModuleBuilder& b, const Rotation& by, ValueId x) {
  const int64_t width = b.shape(x)[3];
  const int64_t rotating = b.config().rotary_dim;
  const ValueId x1 = b.slice(x, 3, 0, rotating / 2);
  const ValueId x2 = b.slice(x, 3, rotating / 2, rotating);
  const ValueId x1_cos = b.mul(x1, by.cos);
  const ValueId x2_sin = b.mul(x2, by.sin);
  const ValueId low = b.apply(Op::sub, {x1_cos, x2_sin});
  const ValueId x2_cos = b.mul(x2, by.cos);
  const ValueId x1_sin = b.mul(x1, by.sin);
  std::vector<ValueId> parts{low, b.add(x2_cos, x1_sin)};
  if (rotating < width) parts.push_back(b.slice(x, 3, rotating, width));
  return b.cat(std::move(parts), 3);
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

/// Softmax of scores [1, H, AR, keys] under the mask.
ValueId probabilities(ModuleBuilder& b, const Call& call, ValueId scores, ValueId mask) {
  Attributes attributes{{"dim", int64_t{-1}}};
  if (!call.form.masked_softmax) {
    return b.apply(Op::softmax, {b.add(scores, mask)}, std::move(attributes));
  }
  attributes.set("below", masked_score_below());
  return b.apply(Op::masked_softmax, {scores, mask}, std::move(attributes));
}

}  // namespace

ValueId attention(ModuleBuilder& b, Call& call, size_t layer, ValueId x,
                  const AttentionForm& form) {
  const ModuleBuilder::Scope scope(b, "self_attn");
  const ModelConfig& config = b.config();
  const LayerConfig& which = config.layer_configs[layer];
  const LayerPair& cache = call.caches[layer];
  LayerPair& fresh = call.fresh[layer];

  const bool as_projected = !which.rotary && !call.form.r3;
  Heads heads = project(b, x, form, as_projected);
  if (which.rotary) {
    const Rotation& by = which.sliding ? call.local_rotation : call.rotation;
    heads.query = rope(b, by, heads.query);
    heads.key = rope(b, by, heads.key);
  }
  const ValueId query = rotated_queries(b, call, heads.query);
  fresh.keys =
      as_projected ? heads.key : rotated_transposed_keys(b, call, heads.key);  // [1, Hkv, D, AR]
  fresh.values = heads.value;

  // All tokens that there are: N = S + AR.
  const ValueId keys = repeat_kv(b, b.cat({cache.keys, fresh.keys}, 3));        // [1, H, D, N]
  const ValueId values = repeat_kv(b, b.cat({cache.values, fresh.values}, 2));  // [1, H, N, D]
  ValueId scores = times(b, b.apply(Op::matmul, {query, keys}), config.attention_scale);
  if (config.attention_softcap) scores = b.softcapped(scores, *config.attention_softcap);
  const ValueId shares =
      probabilities(b, call, scores, which.sliding ? call.window_mask : call.mask);
  const ValueId mixed = b.apply(Op::matmul, {shares, values});  // [1, H, AR, D]
  const ValueId joined = b.transpose(mixed, 1, 2);              // [1, AR, H, D]
  ValueId into_output = kNone;                                  // [1, H * D, 1, AR]
  {
    const ModuleBuilder::Scope output(b, "o_proj");
    into_output = channels_first(b, joined);
  }
  const ValueId projected = b.conv2d("o_proj", into_output, config.output_bias);
  const ModuleBuilder::Scope output(b, "o_proj");
  return rows_of(b, times(b, projected, config.residual_multiplier));
}

}  // namespace lathe::static_form
