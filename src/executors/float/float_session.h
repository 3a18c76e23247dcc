#pragma once

#include <memory>
#include <utility>

#include "executors/float/float_kernels.h"
#include "executors/reference/evaluator_session.h"

namespace lathe {

/// The fast executor of float graphs. `kept_constants`: bytes of float weights that stay in memory
/// between runs; all others are read (and widened) again in every run.
class FloatSession final : public EvaluatorSession {
 public:
  FloatSession(std::shared_ptr<const Graph> graph, int threads,
               int64_t kept_constants = EvaluatorLimits{}.kept_constants)
      : EvaluatorSession(std::move(graph), std::make_shared<FloatKernels>(threads),
                         {.kept_constants = kept_constants}) {}
};

}  // namespace lathe
