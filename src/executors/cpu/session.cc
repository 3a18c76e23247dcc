#include "executors/cpu/session.h"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <unordered_map>
#include <utility>

#include "support/error.h"

namespace lathe {
namespace {

struct Free {
  void operator()(std::byte* memory) const { std::free(memory); }
};

/// Zeroed memory on a 64-byte boundary. It costs nothing until it is written.
class Memory {
 public:
  explicit Memory(size_t bytes)
      : block_(static_cast<std::byte*>(std::calloc(bytes + kCacheLine, 1))) {
    if (block_ == nullptr) {
      fail({.what = "out of memory", .expected = std::to_string(bytes) + " bytes"});
    }
  }

  std::byte* data() const {
    const auto past = reinterpret_cast<uintptr_t>(block_.get()) % kCacheLine;
    return block_.get() + (kCacheLine - past);
  }

 private:
  static constexpr size_t kCacheLine = 64;
  std::unique_ptr<std::byte, Free> block_;
};

class CpuSession final : public Session {
 public:
  CpuSession(IoContract io, Plan plan, std::shared_ptr<ThreadPool> pool, const Kernels& kernels)
      : io_(std::move(io)),
        pool_(std::move(pool)),
        plan_(std::move(plan)),
        arena_(plan_.arena_bytes),
        tokens_(io_.tokens_per_call) {
    frame_.kernels = &kernels;
    frame_.pool = pool_.get();
    frame_.tokens_per_call = io_.tokens_per_call;
    frame_.base.resize(plan_.buffers.size());
    frame_.inputs.resize(plan_.buffers.size());
    for (size_t i = 0; i < plan_.buffers.size(); ++i) {
      const Buffer& buffer = plan_.buffers[i];
      switch (buffer.kind) {
        case Buffer::Kind::arena:
        case Buffer::Kind::scratch:
          frame_.base[i] = arena_.data() + buffer.offset;
          break;
        case Buffer::Kind::constant:
          frame_.base[i] = const_cast<std::byte*>(buffer.constant.get());
          break;
        case Buffer::Kind::output:
          if (buffer.name == "logits") logits_ = static_cast<BufferId>(i);
          // Steps that serve several outputs write even those that nobody has bound.
          if (!skippable(static_cast<BufferId>(i))) {
            unbound_.emplace(i, buffer.bytes);
            frame_.base[i] = unbound_.at(i).data();
          }
          break;
        case Buffer::Kind::input: {
          // Inputs without elements need no binding.
          const IoTensor& tensor = *io_.find_input(buffer.name);
          frame_.inputs[i] = dense_view(tensor.dtype, tensor.shape, nullptr);
          break;
        }
      }
    }
  }

  const IoContract& io() const override { return io_; }

  void bind(std::string_view name, const TensorView& view) override {
    const size_t i = buffer_named(name);
    if (plan_.buffers[i].kind == Buffer::Kind::input) {
      check(*io_.find_input(name), view);
      frame_.inputs[i] = view;
      frame_.base[i] = view.data;
    } else if (view.data == nullptr) {
      const auto own = unbound_.find(i);
      frame_.base[i] = own == unbound_.end() ? nullptr : own->second.data();
    } else {
      check(*io_.find_output(name), view);
      if (!is_dense(view)) fail({.what = "an output must be dense", .where = std::string(name)});
      frame_.base[i] = view.data;
    }
  }

  void want(int64_t tokens, int64_t first_logits) override {
    if (plan_.every_token_counts) return;
    tokens_ = tokens;
    first_logits_ = first_logits;
  }

  void run() noexcept override {
    frame_.last_token = tokens_;
    for (const PlannedStep& planned : plan_.steps) {
      frame_.first_token = 0;
      if (planned.only_for >= 0) {
        if (frame_.base[static_cast<size_t>(planned.only_for)] == nullptr) continue;
        if (planned.only_for == logits_) frame_.first_token = first_logits_;
      }
      planned.step->run(frame_);
    }
  }

 private:
  size_t buffer_named(std::string_view name) const {
    for (size_t i = 0; i < plan_.buffers.size(); ++i) {
      const Buffer& buffer = plan_.buffers[i];
      const bool bound = buffer.kind == Buffer::Kind::input || buffer.kind == Buffer::Kind::output;
      if (bound && buffer.name == name) return i;
    }
    fail({.what = "the graph has no such input or output", .found = printable(name)});
  }

  /// Whether an output is written only by steps that are left out while it is unbound.
  bool skippable(BufferId id) const {
    for (const PlannedStep& planned : plan_.steps) {
      if (planned.only_for == id) return true;
    }
    return false;
  }

  static void check(const IoTensor& tensor, const TensorView& view) {
    if (view.dtype != tensor.dtype || view.shape != tensor.shape) {
      fail({.what = "the bound memory does not fit",
            .where = tensor.name,
            .expected = std::string(name_of(tensor.dtype)) + to_string(tensor.shape),
            .found = std::string(name_of(view.dtype)) + to_string(view.shape)});
    }
    const bool contiguous =
        view.strides.size() == view.shape.size() &&
        (view.shape.empty() || view.shape.back() <= 1 || view.strides.back() == 1);
    if (!contiguous) {
      fail({.what = "the last dimension is not contiguous", .where = tensor.name});
    }
  }

  IoContract io_;
  std::shared_ptr<ThreadPool> pool_;
  Plan plan_;
  Frame frame_;
  Memory arena_;
  BufferId logits_ = -1;
  int64_t tokens_;  // that count, see want()
  int64_t first_logits_ = 0;
  std::unordered_map<size_t, Memory> unbound_;  // by buffer: outputs that are always computed
};

}  // namespace

std::unique_ptr<Session> make_cpu_session(const Graph& graph, std::shared_ptr<ThreadPool> pool,
                                          const Kernels& kernels) {
  Plan plan = lower(graph, pool->size());
  return make_cpu_session(graph.io(), std::move(plan), std::move(pool), kernels);
}

std::unique_ptr<Session> make_cpu_session(std::shared_ptr<const Graph> verified,
                                          std::shared_ptr<ThreadPool> pool,
                                          const Kernels& kernels) {
  IoContract io = verified->io();
  Plan plan = lower_verified(std::move(verified), pool->size());
  return make_cpu_session(std::move(io), std::move(plan), std::move(pool), kernels);
}

std::unique_ptr<Session> make_cpu_session(IoContract io, Plan plan,
                                          std::shared_ptr<ThreadPool> pool,
                                          const Kernels& kernels) {
  return std::make_unique<CpuSession>(std::move(io), std::move(plan), std::move(pool), kernels);
}

}  // namespace lathe
