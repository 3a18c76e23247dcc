#include "frontend/static_form/blocks.h"

#include <utility>
#include <vector>

#include "graph/constant_floats.h"

namespace lathe::static_form {
namespace {

/// The weight of the current module, which is a norm.
ValueId norm_weight(ModuleBuilder& b) {
  const ValueId weight = b.parameter("weight");
  if (!b.config().norm_adds_one) return weight;
  std::vector<float> numbers = constant_floats(b.graph().value(weight));
  for (float& number : numbers) number += 1.0f;
  return b.buffer("weight.add", b.shape(weight), std::move(numbers));
}

ValueId activation(ModuleBuilder& b, const Call& call, ValueId x) {
  const ModuleBuilder::Scope scope(b, "act_fn");
  const bool decomposed = call.form.decomposed_silu && b.config().hidden_act == Activation::silu;
  return decomposed ? b.mul(x, b.apply(Op::sigmoid, {x})) : b.activated(x);
}

}  // namespace

ValueId times(ModuleBuilder& b, ValueId x, double factor) {
  return factor == 1.0 ? x : b.mul(x, factor);
}

ValueId rms_norm(ModuleBuilder& b, const std::string& name, ValueId x) {
  const ModuleBuilder::Scope scope(b, name);
  return b.apply(Op::rms_norm, {x, norm_weight(b)}, {{"eps", b.config().rms_norm_eps}});
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

ValueId gated_mlp(ModuleBuilder& b, const Call& call, ValueId x, Weights weights) {
  const ModuleBuilder::Scope scope(b, "mlp");
  const ModelConfig& config = b.config();
  const bool packed = weights == Weights::packed;
  const int64_t width = config.intermediate_size;
  const std::string first = packed ? "gate_up_proj" : "gate_proj";
  ValueId channels = kNone;  // [1, E, 1, AR]
  {
    const ModuleBuilder::Scope module(b, first);
    channels = channels_first(b, x);
  }
  const ValueId gate =
      packed ? b.conv2d_part(first, channels, config.mlp_bias, {.first = 0, .count = width})
             : b.conv2d(first, channels, config.mlp_bias);
  const ValueId activated = activation(b, call, gate);
  const ValueId up =
      packed ? b.conv2d_part(first, channels, config.mlp_bias, {.first = width, .count = width})
             : b.conv2d("up_proj", channels, config.mlp_bias);
  const ValueId projected = b.conv2d("down_proj", b.mul(activated, up), config.mlp_bias);
  const ModuleBuilder::Scope last(b, "down_proj");
  return rows_of(b, times(b, projected, config.residual_multiplier));
}

}  // namespace lathe::static_form
