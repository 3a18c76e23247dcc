#include <string>
#include <utility>

#include "frontend/hf/call.h"
#include "frontend/rope.h"

namespace lathe::hf {
namespace {

ValueId vector_buffer(ModuleBuilder& b, const std::string& name, std::vector<float> values) {
  const Shape shape{static_cast<int64_t>(values.size())};
  return b.buffer(name, shape, std::move(values));
}

/// theta^(2i / rotary_dim) [rotary_dim / 2], computed in the graph.
ValueId powers_of_theta(ModuleBuilder& b, const RopeConfig& rope) {
  const int64_t width = b.config().rotary_dim;
  const ValueId even =
      b.apply(Op::arange, {}, {{"start", int64_t{0}}, {"end", width}, {"step", int64_t{2}}});
  const ValueId exponents = b.apply(Op::div, {b.to(even, DType::f32)}, {{"other", width}});
  return b.apply(Op::pow, {exponents}, {{"base", rope.theta}});
}

/// The frequencies of longrope, chosen by the last position of the call.
ValueId long_or_short_frequencies(ModuleBuilder& b, const CallContext& call,
                                  const RopeConfig& rope) {
  const int64_t original = rope.original_max_position_embeddings;
  const ValueId last = b.apply(Op::max, {call.position_ids});
  const ValueId length = b.apply(Op::add, {last}, {{"other", int64_t{1}}});
  const ValueId factors = vector_buffer(
      b, "long_factor", std::vector<float>(rope.long_factor.begin(), rope.long_factor.end()));
  const ValueId copied = b.apply(Op::detach_, {b.apply(Op::lift_fresh_copy, {factors})});
  const ValueId stretched = b.mul(copied, powers_of_theta(b, rope));
  const ValueId inverse = b.mul(b.apply(Op::reciprocal, {stretched}), 1.0);
  const ValueId long_frequencies = b.to(inverse, DType::f32);
  const std::vector<float> short_frequencies =
      rope_inverse_frequencies(rope, b.config().rotary_dim, original);
  const ValueId kept = b.to(vector_buffer(b, "original_inv_freq", short_frequencies), DType::f32);
  const ValueId is_long = b.apply(Op::gt, {length}, {{"other", original}});
  const ValueId chosen = b.apply(Op::where, {is_long, long_frequencies, kept});
  const ValueId current = vector_buffer(b, "inv_freq", short_frequencies);
  return b.apply(Op::copy_, {current, chosen});
}

/// `prefix` tells the buffers of several rotations apart.
Rotation rotation(ModuleBuilder& b, const CallContext& call, const RopeConfig& rope,
                  const std::string& prefix, bool casts) {
  const ValueId frequencies =
      rope.kind == RopeConfig::Kind::longrope
          ? long_or_short_frequencies(b, call, rope)
          : vector_buffer(
                b, prefix + "inv_freq",
                rope_inverse_frequencies(rope, b.config().rotary_dim, call.shape.context));
  const ValueId positions = b.to(b.unsqueeze(call.position_ids, 2), DType::f32);  // [1, AR, 1]
  const ValueId angles = b.mul(positions, b.to(frequencies, DType::f32));         // [1, AR, R/2]
  const ValueId both = b.cat({angles, angles}, -1);                               // [1, AR, R]
  const ValueId cos = b.mul(b.apply(Op::cos, {both}), rope.attention_factor);
  const ValueId sin = b.mul(b.apply(Op::sin, {both}), rope.attention_factor);
  if (!casts) return {cos, sin};
  const ValueId cos_as_hidden = b.to(cos, DType::f32);
  return {cos_as_hidden, b.to(sin, DType::f32)};
}

}  // namespace

void rotary_embedding(ModuleBuilder& b, CallContext& call, bool casts) {
  const ModuleBuilder::Scope scope(b, "rotary_emb");
  const ModelConfig& config = b.config();
  if (!config.local_rope) {
    call.rotation = rotation(b, call, config.rope, "", casts);
    call.local_rotation = call.rotation;
    return;
  }
  call.local_rotation = rotation(b, call, *config.local_rope, "sliding_attention_", casts);
  call.rotation = rotation(b, call, config.rope, "full_attention_", casts);
}

}  // namespace lathe::hf
