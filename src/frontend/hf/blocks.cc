#include "frontend/hf/blocks.h"

namespace lathe::hf {
namespace {

/// A norm's input in float32, and that times rsqrt(mean(x^2) + eps).
Normalized normalize(ModuleBuilder& b, ValueId x) {
  const ValueId input = b.to(x, DType::f32);
  const ValueId squares = b.apply(Op::pow, {input}, {{"exponent", int64_t{2}}});
  const ValueId mean = b.apply(Op::mean, {squares}, {{"dim", int64_t{-1}}});
  const ValueId scale = b.apply(Op::rsqrt, {b.add(mean, b.config().rms_norm_eps)});
  return {input, b.mul(input, scale)};
}

ValueId activation(ModuleBuilder& b, const std::string& module, ValueId x) {
  const ModuleBuilder::Scope scope(b, module);
  return b.activated(x);
}

}  // namespace

Normalized rms_norm(ModuleBuilder& b, const std::string& name, ValueId x) {
  const ModuleBuilder::Scope scope(b, name);
  const Normalized norm = normalize(b, x);
  const ValueId normalized = b.to(norm.output, DType::f32);
  return {norm.input, b.mul(b.parameter("weight"), normalized)};
}

Normalized olmo2_norm(ModuleBuilder& b, const std::string& name, ValueId x) {
  const ModuleBuilder::Scope scope(b, name);
  const Normalized norm = normalize(b, x);
  return {norm.input, b.to(b.mul(b.parameter("weight"), norm.output), DType::f32)};
}

Normalized gemma_norm(ModuleBuilder& b, const std::string& name, ValueId x) {
  const ModuleBuilder::Scope scope(b, name);
  const Normalized norm = normalize(b, x);
  const ValueId weight = b.add(b.to(b.parameter("weight"), DType::f32), 1.0);
  return {norm.input, b.apply(Op::type_as, {b.mul(norm.output, weight), norm.input})};
}

ValueId gated_mlp(ModuleBuilder& b, ValueId x) {
  const ModuleBuilder::Scope scope(b, "mlp");
  const bool bias = b.config().mlp_bias;
  const ValueId gate = activation(b, "act_fn", b.linear("gate_proj", x, bias));
  return b.linear("down_proj", b.mul(gate, b.linear("up_proj", x, bias)), bias);
}

ValueId packed_mlp(ModuleBuilder& b, ValueId x) {
  const ModuleBuilder::Scope scope(b, "mlp");
  const ValueId both = b.apply(Op::chunk, {b.linear("gate_up_proj", x, false)},
                               {{"chunks", int64_t{2}}, {"dim", int64_t{-1}}});
  const ValueId gate = b.apply(Op::getitem, {both}, {{"index", int64_t{0}}});
  const ValueId up = b.apply(Op::getitem, {both}, {{"index", int64_t{1}}});
  return b.linear("down_proj", b.mul(up, activation(b, "activation_fn", gate)), false);
}

}  // namespace lathe::hf
