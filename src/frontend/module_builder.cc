#include "frontend/module_builder.h"

#include <fmt/format.h>

#include <utility>

#include "graph/halved_pairs.h"
#include "graph/slice_channels.h"
#include "support/error.h"

namespace lathe {
namespace {

/// A tensor of a checkpoint as the data of a constant.
class CheckpointFloats final : public FloatSource {
 public:
  CheckpointFloats(std::shared_ptr<const Checkpoint> checkpoint, int tensor)
      : checkpoint_(std::move(checkpoint)), tensor_(tensor) {}
  void read(int64_t begin, int64_t count, float* out) const override {
    checkpoint_->read_f32(tensor_, begin, count, out);
  }

 private:
  std::shared_ptr<const Checkpoint> checkpoint_;
  int tensor_;
};

}  // namespace

ModuleBuilder::Scope::Scope(ModuleBuilder& builder, const std::string& name)
    : builder_(builder), length_(builder.path_.size()) {
  if (!builder_.path_.empty()) builder_.path_ += '.';
  builder_.path_ += name;
}

ValueId ModuleBuilder::apply(Op op, std::vector<ValueId> inputs, Attributes attributes) {
  return graph_.append({.op = op,
                        .inputs = std::move(inputs),
                        .attributes = std::move(attributes),
                        .module = path_});
}

std::string ModuleBuilder::path_of(const std::string& name) const {
  return path_.empty() ? name : path_ + "." + name;
}

int ModuleBuilder::tensor_named(const std::string& name) const {
  const int tensor = checkpoint_->find(name);
  if (tensor < 0) {
    fail({.what = "a weight is missing", .where = "checkpoint", .expected = name});
  }
  return tensor;
}

std::shared_ptr<const Constant> ModuleBuilder::stored(int tensor) {
  std::shared_ptr<const Constant>& known = stored_[tensor];
  if (known == nullptr) {
    const TensorInfo& info = checkpoint_->tensors()[static_cast<size_t>(tensor)];
    auto constant = std::make_shared<Constant>();
    constant->name = info.name;
    constant->floats = std::make_shared<CheckpointFloats>(checkpoint_, tensor);
    constant->byte_count = byte_size(DType::f32, info.shape);
    known = std::move(constant);
  }
  return known;
}

ValueId ModuleBuilder::parameter(const std::string& name) { return parameter_at(path_of(name)); }

ValueId ModuleBuilder::parameter_at(const std::string& path) {
  if (const ValueId known = graph_.find(path); known != kNone) return known;
  const int tensor = tensor_named(path);
  const Shape& shape = checkpoint_->tensors()[static_cast<size_t>(tensor)].shape;
  return graph_.add_constant(path, DType::f32, shape, stored(tensor));
}

ValueId ModuleBuilder::filter(const std::string& tensor) {
  const int index = tensor_named(tensor);
  Shape shape = checkpoint_->tensors()[static_cast<size_t>(index)].shape;
  shape.insert(shape.end(), {1, 1});
  return graph_.add_constant(path_of("weight"), DType::f32, std::move(shape), stored(index));
}

ValueId ModuleBuilder::buffer(const std::string& name, Shape shape, std::vector<float> values) {
  const std::string path = path_of(name);
  return graph_.add_constant(path, DType::f32, std::move(shape),
                             float_constant(path, std::move(values)));
}

ValueId ModuleBuilder::to(ValueId a, DType dtype) {
  return apply(Op::to, {a}, {{"dtype", std::string(name_of(dtype))}});
}

ValueId ModuleBuilder::transpose(ValueId a, int64_t dim0, int64_t dim1) {
  return apply(Op::transpose, {a}, {{"dim0", dim0}, {"dim1", dim1}});
}

ValueId ModuleBuilder::slice(ValueId a, int64_t dim, int64_t start, int64_t end) {
  return apply(Op::slice, {a}, {{"dim", dim}, {"start", start}, {"end", end}});
}

ValueId ModuleBuilder::cat(std::vector<ValueId> parts, int64_t dim) {
  return apply(Op::cat, std::move(parts), {{"dim", dim}});
}

ValueId ModuleBuilder::permute(ValueId a, std::vector<int64_t> dims) {
  return apply(Op::permute, {a}, {{"dims", std::move(dims)}});
}

ValueId ModuleBuilder::linear(const std::string& name, ValueId x, bool bias) {
  const Scope scope(*this, name);
  std::vector<ValueId> inputs{x, parameter("weight")};
  if (bias) inputs.push_back(parameter("bias"));
  return apply(Op::linear, std::move(inputs));
}

ValueId ModuleBuilder::conv2d(const std::string& name, ValueId x, bool bias) {
  const Scope scope(*this, name);
  std::vector<ValueId> inputs{x, filter(path_of("weight"))};
  if (bias) inputs.push_back(parameter("bias"));
  return apply(Op::conv2d, std::move(inputs));
}

ValueId ModuleBuilder::changed_conv2d(const std::string& name, ValueId x, bool bias,
                                      const std::function<Value(const Value& stored)>& change) {
  const Scope scope(*this, name);
  const auto parameter = [&](const char* which) {
    const int tensor = tensor_named(path_of(which));
    Value whole;
    whole.name = path_of(which);
    whole.shape = checkpoint_->tensors()[static_cast<size_t>(tensor)].shape;
    whole.constant = stored(tensor);
    return change(whole);
  };
  const Value weight = parameter("weight");
  const Shape filter{weight.shape[0], weight.shape[1], 1, 1};
  std::vector<ValueId> inputs{
      x, graph_.add_constant(weight.name, weight.dtype, filter, weight.constant)};
  if (bias) {
    const Value added = parameter("bias");
    inputs.push_back(graph_.add_constant(added.name, added.dtype, added.shape, added.constant));
  }
  return apply(Op::conv2d, std::move(inputs));
}

ValueId ModuleBuilder::conv2d_part(const std::string& name, ValueId x, bool bias,
                                   const Channels& part) {
  return changed_conv2d(name, x, bias, [&](const Value& stored) {
    return slice_channels(stored, part.first, part.count, fmt::format(".{}", part.first));
  });
}

ValueId ModuleBuilder::conv2d_halves(const std::string& name, ValueId x, bool bias) {
  return changed_conv2d(name, x, bias, [&](const Value& stored) {
    return halved_pairs(stored, config().head_dim, config().rotary_dim);
  });
}

ValueId ModuleBuilder::activated(ValueId x) {
  const auto gelu = [&](const char* approximate) {
    return apply(Op::gelu, {x}, {{"approximate", std::string(approximate)}});
  };
  switch (config().hidden_act) {
    case Activation::gelu:
      return gelu("none");
    case Activation::gelu_tanh:
      return gelu("tanh");
    case Activation::silu:
      break;
  }
  return apply(Op::silu, {x});
}

ValueId ModuleBuilder::softcapped(ValueId x, double softcap) {
  const ValueId part = apply(Op::div, {x}, {{"other", softcap}});
  return mul(apply(Op::tanh, {part}), softcap);
}

}  // namespace lathe
