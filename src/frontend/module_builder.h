#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "graph/graph.h"

namespace lathe {

/// The end of a slice that goes as far as there is something.
inline constexpr int64_t kToTheEnd = std::numeric_limits<int64_t>::max();

/// Channels [first, first + count) of a projection.
struct Channels {
  int64_t first = 0;
  int64_t count = 0;
};

/// Appends nodes to a graph with the path of the Hugging Face module that is being written, and
/// gives access to the checkpoint's weights under that path.
class ModuleBuilder {
 public:
  ModuleBuilder(Graph& graph, std::shared_ptr<const Checkpoint> checkpoint)
      : graph_(graph), checkpoint_(std::move(checkpoint)) {}

  /// While it lives, nodes belong to the submodule `name` of the current one.
  class Scope {
   public:
    Scope(ModuleBuilder& builder, const std::string& name);
    ~Scope() { builder_.path_.resize(length_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    ModuleBuilder& builder_;
    size_t length_;
  };

  const ModelConfig& config() const { return checkpoint_->config(); }
  Graph& graph() { return graph_; }
  const Shape& shape(ValueId id) const { return graph_.value(id).shape; }

  ValueId apply(Op op, std::vector<ValueId> inputs, Attributes attributes = {});
  /// The parameter `name` of the current module, read from the checkpoint where it is used. The
  /// same value for every use.
  ValueId parameter(const std::string& name);
  /// A parameter given by its whole name ("model.embed_tokens.weight").
  ValueId parameter_at(const std::string& path);
  /// The weight of the current module, a Linear, as conv2d takes it: the rows [N, K] of the
  /// checkpoint's `tensor` as [N, K, 1, 1]. Shares the constant with whatever else reads the
  /// tensor.
  ValueId filter(const std::string& tensor);
  /// A buffer of the current module with values made here.
  ValueId buffer(const std::string& name, Shape shape, std::vector<float> values);

  // Operators in the forms that the modeling code uses.
  ValueId add(ValueId a, ValueId b) { return apply(Op::add, {a, b}); }
  ValueId add(ValueId a, double other) { return apply(Op::add, {a}, {{"other", other}}); }
  ValueId mul(ValueId a, ValueId b) { return apply(Op::mul, {a, b}); }
  ValueId mul(ValueId a, double other) { return apply(Op::mul, {a}, {{"other", other}}); }
  ValueId to(ValueId a, DType dtype);
  ValueId unsqueeze(ValueId a, int64_t dim) { return apply(Op::unsqueeze, {a}, {{"dim", dim}}); }
  ValueId transpose(ValueId a, int64_t dim0, int64_t dim1);
  ValueId slice(ValueId a, int64_t dim, int64_t start, int64_t end);
  ValueId cat(std::vector<ValueId> parts, int64_t dim);
  ValueId permute(ValueId a, std::vector<int64_t> dims);
  ValueId view(ValueId a, Shape sizes) { return apply(Op::view, {a}, {{"sizes", sizes}}); }
  ValueId reshape(ValueId a, Shape sizes) { return apply(Op::reshape, {a}, {{"sizes", sizes}}); }
  ValueId expand(ValueId a, Shape sizes) { return apply(Op::expand, {a}, {{"sizes", sizes}}); }
  ValueId arange(int64_t end) { return apply(Op::arange, {}, {{"end", end}}); }
  /// A Linear submodule, with its bias where the config says so.
  ValueId linear(const std::string& name, ValueId x, bool bias);
  /// The same as a conv2d: x [1, K, 1, AR] -> [1, N, 1, AR].
  ValueId conv2d(const std::string& name, ValueId x, bool bias);
  /// The same with some of the Linear's channels: one of several projections that share a weight.
  ValueId conv2d_part(const std::string& name, ValueId x, bool bias, const Channels& part);
  /// The same with the channels of a Linear whose heads turn in pairs in the order in which they
  /// turn in halves (halved_pairs).
  ValueId conv2d_halves(const std::string& name, ValueId x, bool bias);
  /// The activation of the feed-forward networks.
  ValueId activated(ValueId x);
  /// softcap * tanh(x / softcap)
  ValueId softcapped(ValueId x, double softcap);

 private:
  std::string path_of(const std::string& name) const;
  /// Index of a tensor of the checkpoint. Throws Error where there is none.
  int tensor_named(const std::string& name) const;
  /// A conv2d with what `change` makes of the parameters [N, ...] of a Linear.
  ValueId changed_conv2d(const std::string& name, ValueId x, bool bias,
                         const std::function<Value(const Value& stored)>& change);
  /// The data of a tensor: one object for all values of the graph that hold it.
  std::shared_ptr<const Constant> stored(int tensor);

  Graph& graph_;
  std::shared_ptr<const Checkpoint> checkpoint_;
  std::map<int, std::shared_ptr<const Constant>> stored_;  // by tensor of the checkpoint
  std::string path_;
};

}  // namespace lathe
