#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "executors/cpu/frame.h"
#include "graph/graph.h"

namespace lathe {

/// A stretch of memory that steps read and write.
struct Buffer {
  enum class Kind : uint8_t {
    arena,     ///< planned: shares one allocation with buffers whose lives do not overlap
    input,     ///< bound by the caller
    output,    ///< bound by the caller
    constant,  ///< weights and what was derived from them at load
    scratch    ///< like arena, for one step only
  };
  Kind kind = Kind::arena;
  size_t bytes = 0;
  std::string name = {};                                ///< input, output: the name in the contract
  std::shared_ptr<const std::byte> constant = nullptr;  ///< keeps the memory alive
  size_t offset = 0;                                    ///< arena, scratch: from its start
  int first_step = -1;
  int last_step = -1;
};

/// A buffer that a step reads or writes: all of it, or so many bytes.
struct Access {
  // NOLINTNEXTLINE(google-explicit-constructor): lists of whole buffers are what most steps have
  Access(BufferId whole) : buffer(whole) {}
  Access(BufferId some_of, int64_t byte_count) : buffer(some_of), bytes(byte_count) {}

  BufferId buffer;
  std::optional<int64_t> bytes = {};
};

/// A step and what is known about it.
struct PlannedStep {
  std::unique_ptr<Step> step;
  std::vector<Access> accesses = {};
  std::vector<NodeId> nodes = {};  ///< that it computes, or that it copies something for
  int64_t multiply_adds = 0;       ///< of the matrix products among them
  BufferId only_for = -1;          ///< an output: the step is skipped while that is unbound
};

/// An integer graph as a flat list of steps over planned memory. Reshapes, transposes, slices and
/// the repetition of key-value heads have become strides; attention and rotary embedding are one
/// step each; norms, residuals and the gated activation are parts of the products next to them.
struct Plan {
  std::vector<Buffer> buffers;
  std::vector<PlannedStep> steps;
  size_t arena_bytes = 0;
  bool every_token_counts = false;  ///< results of a token depend on those that come later
};

/// Lowers an integer graph for `threads` threads. Throws Error for a graph that is none, that the
/// verifier refuses, or that no executor can evaluate.
Plan lower(const Graph& graph, int threads);
/// The same for a graph that the verifier has accepted: it is not looked through again, nor copied.
Plan lower_verified(std::shared_ptr<const Graph> graph, int threads);

/// Gives every arena and scratch buffer its offset: first fit among buffers that live at the same
/// time, largest first. Returns the size of the arena.
size_t plan_arena(std::vector<Buffer>& buffers);

}  // namespace lathe
