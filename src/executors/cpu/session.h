#pragma once

#include <memory>

#include "executors/cpu/kernels/kernels.h"
#include "executors/cpu/plan.h"
#include "executors/session.h"
#include "graph/graph.h"
#include "support/thread_pool.h"

namespace lathe {

/// A planned, vectorised executor for integer graphs: every code as the reference executor gives it
/// (at most one code apart where float32 is inside). Sessions that run one after the other, as
/// prefill and decode do, share a team. Bound outputs must be dense, and no memory that is also an
/// input's. Throws Error for a graph that is not integer or that the verifier refuses.
std::unique_ptr<Session> make_cpu_session(const Graph& graph, std::shared_ptr<ThreadPool> pool,
                                          const Kernels& kernels = select_kernels());

/// The same for an integer graph that the verifier has accepted, as all of read_model() are, and
/// which need not be copied.
std::unique_ptr<Session> make_cpu_session(std::shared_ptr<const Graph> verified,
                                          std::shared_ptr<ThreadPool> pool,
                                          const Kernels& kernels = select_kernels());

/// The same for a plan that lower() made for this team, of a graph with these inputs and outputs.
std::unique_ptr<Session> make_cpu_session(IoContract io, Plan plan,
                                          std::shared_ptr<ThreadPool> pool,
                                          const Kernels& kernels = select_kernels());

}  // namespace lathe
