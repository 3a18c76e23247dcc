#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "executors/session.h"
#include "graph/graph.h"
#include "support/thread_pool.h"

namespace lathe {

/// The bytes of every output, by name.
using Results = std::map<std::string, std::vector<std::byte>>;

/// An integer graph with data for everything it reads, to be run by two executors.
///
/// Written as text, it needs types only where codes are made: a movement has the encoding of what
/// it moves, softmax its fixed one, every other operator without one gets u16 over about +-4.
/// Constants and inputs are random codes; weights of a linear or conv2d are packed; an input whose
/// name ends in "mask" is 0 and 65535 by chance, ids are rows of the smallest table.
class CodeGraph {
 public:
  explicit CodeGraph(std::string_view text, uint32_t seed = 1);
  explicit CodeGraph(Graph graph, uint32_t seed = 1);

  const Graph& graph() const { return graph_; }
  template <typename T>
  void set_input(const std::string& name, const std::vector<T>& codes) {
    inputs_[name].assign(reinterpret_cast<const std::byte*>(codes.data()),
                         reinterpret_cast<const std::byte*>(codes.data() + codes.size()));
  }

  /// Binds the inputs; each row of a tensor is followed by `gap` elements that are not part of it.
  void bind_inputs(Session& session, int64_t gap = 0);
  /// Binds the inputs and all outputs, and runs.
  Results run(Session& session, int64_t gap = 0);
  Results run_reference();

 private:
  void fill();
  std::vector<std::byte> random_bytes(const Value& value);
  std::vector<std::byte> random_int4(const Value& weight);

  Graph graph_;
  std::mt19937 random_;
  std::map<std::string, std::vector<std::byte>> inputs_;
  std::map<std::string, std::vector<std::byte>> bound_;  // what sessions read
};

/// Teams of one, two and three threads that live as long as the program.
std::shared_ptr<ThreadPool> team_of(int threads);

/// The names of the steps that the cpu executor makes of a graph, in order.
std::vector<std::string> step_names(const Graph& graph);

/// Runs a graph on the cpu executor with one, two and three threads, on every instruction set of
/// this processor, with inputs that are dense and that are windows into longer rows, and expects
/// the same codes of all of them. Gives them.
Results run_everywhere(CodeGraph& graph);

/// The largest difference of two codes of an output.
int64_t code_difference(const Graph& graph, const std::string& output, const Results& a,
                        const Results& b);

/// run_everywhere, and no code may be further than `codes` from the reference executor's.
void expect_as_reference(CodeGraph& graph, int64_t codes);

/// `text` with its only `part` replaced.
std::string with(std::string text, const std::string& part, const std::string& replacement);

}  // namespace lathe
