#include "frontend/hf/blocks.h"

namespace lathe::hf {
namespace {

constexpr int64_t kHeadDim = 3;  // the dimension of [1, heads, AR, D]

/// cos and sin for all heads: [1, 1, AR, R].
Rotation for_all_heads(ModuleBuilder& b, const Rotation& rotation) {
  const ValueId cos = b.unsqueeze(rotation.cos, 1);
  return {cos, b.unsqueeze(rotation.sin, 1)};
}

/// x * cos + rotate_half(x) * sin, where rotate_half([a | b]) = [-b | a].
ValueId turn_halves(ModuleBuilder& b, ValueId x, const Rotation& by) {
  const int64_t half = b.shape(x).back() / 2;
  const ValueId straight = b.mul(x, by.cos);
  const ValueId first = b.slice(x, kHeadDim, 0, half);
  const ValueId second = b.slice(x, kHeadDim, half, kToTheEnd);
  const ValueId turned = b.cat({b.apply(Op::neg, {second}), first}, -1);
  return b.add(straight, b.mul(turned, by.sin));
}

/// A head cut into what rotates and what does not.
struct Parts {
  ValueId rotating = kNone;
  ValueId passing = kNone;
};

Parts cut(ModuleBuilder& b, ValueId x, int64_t rotating) {
  const bool whole = rotating == b.shape(x).back();
  const ValueId first = whole ? b.apply(Op::alias, {x}) : b.slice(x, kHeadDim, 0, rotating);
  return {first, b.slice(x, kHeadDim, rotating, kToTheEnd)};
}

/// Every element of the first half of the last dimension twice: [1, 1, AR, R] -> the same, with
/// values 2i and 2i + 1 alike.
ValueId interleave(ModuleBuilder& b, ValueId x) {
  const Shape shape = b.shape(x);
  const int64_t half = shape[3] / 2;
  const ValueId first = b.slice(x, kHeadDim, 0, half);
  const ValueId twice = b.expand(b.unsqueeze(first, 4), {1, 1, shape[2], half, 2});
  return b.reshape(twice, shape);
}

/// x * cos + rotate_half(x) * sin, where rotate_half takes every pair (a, b) to (-b, a).
ValueId turn_pairs(ModuleBuilder& b, ValueId x, const Rotation& by) {
  const auto every_second = [&](int64_t start) {
    return b.apply(Op::slice, {x},
                   {{"dim", kHeadDim}, {"start", start}, {"end", kToTheEnd}, {"step", int64_t{2}}});
  };
  const ValueId straight = b.mul(x, by.cos);
  const ValueId first = every_second(0);
  const ValueId second = every_second(1);
  const ValueId negated = b.unsqueeze(b.apply(Op::neg, {second}), 4);
  const ValueId pairs = b.cat({negated, b.unsqueeze(first, 4)}, -1);
  const ValueId turned = b.reshape(pairs, b.shape(x));
  return b.add(straight, b.mul(turned, by.sin));
}

using Turn = ValueId (*)(ModuleBuilder& b, ValueId x, const Rotation& by);

/// Turns the first R values of each head, and leaves the others.
void turn_first(ModuleBuilder& b, const Rotation& by, Heads& heads, Turn turn) {
  const int64_t rotating = b.config().rotary_dim;
  const Parts query = cut(b, heads.query, rotating);
  const Parts key = cut(b, heads.key, rotating);
  heads.query = b.cat({turn(b, query.rotating, by), query.passing}, -1);
  heads.key = b.cat({turn(b, key.rotating, by), key.passing}, -1);
}

}  // namespace

void rotate_halves(ModuleBuilder& b, const Rotation& rotation, Heads& heads) {
  const Rotation by = for_all_heads(b, rotation);
  heads.query = turn_halves(b, heads.query, by);
  heads.key = turn_halves(b, heads.key, by);
}

void rotate_halves_and_cast(ModuleBuilder& b, const Rotation& rotation, Heads& heads) {
  rotate_halves(b, rotation, heads);
  heads.query = b.to(heads.query, DType::f32);
  heads.key = b.to(heads.key, DType::f32);
}

void rotate_first_values(ModuleBuilder& b, const Rotation& rotation, Heads& heads) {
  turn_first(b, for_all_heads(b, rotation), heads, turn_halves);
}

void rotate_first_pairs(ModuleBuilder& b, const Rotation& rotation, Heads& heads) {
  const Rotation by = for_all_heads(b, rotation);
  const ValueId cos = interleave(b, by.cos);
  turn_first(b, {cos, interleave(b, by.sin)}, heads, turn_pairs);
}

}  // namespace lathe::hf
