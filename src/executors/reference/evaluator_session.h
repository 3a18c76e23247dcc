#pragma once

#include <memory>
#include <string_view>

#include "executors/reference/evaluator.h"
#include "executors/session.h"

namespace lathe {

/// A Session that runs an Evaluator.
class EvaluatorSession : public Session {
 public:
  /// Throws Error for a graph that cannot be evaluated.
  EvaluatorSession(std::shared_ptr<const Graph> graph, std::shared_ptr<NodeKernels> kernels,
                   EvaluatorLimits limits);

  const IoContract& io() const override { return io_; }
  void bind(std::string_view name, const TensorView& view) override;
  void run() noexcept override { evaluator_.run(); }

 private:
  IoContract io_;
  Evaluator evaluator_;
};

/// The exact and slow executor: float and integer graphs of any content of the operator table.
class ReferenceSession final : public EvaluatorSession {
 public:
  explicit ReferenceSession(std::shared_ptr<const Graph> graph)
      : EvaluatorSession(std::move(graph), nullptr, {}) {}
};

}  // namespace lathe
