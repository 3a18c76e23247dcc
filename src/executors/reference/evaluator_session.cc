#include "executors/reference/evaluator_session.h"

#include <utility>

namespace lathe {

EvaluatorSession::EvaluatorSession(std::shared_ptr<const Graph> graph,
                                   std::shared_ptr<NodeKernels> kernels, EvaluatorLimits limits)
    : io_(graph->io()), evaluator_(std::move(graph), std::move(kernels), limits) {}

void EvaluatorSession::bind(std::string_view name, const TensorView& view) {
  if (io_.find_input(name) != nullptr) {
    evaluator_.bind_input(name, view);
  } else {
    evaluator_.bind_output(name, view);
  }
}

}  // namespace lathe
