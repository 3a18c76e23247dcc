#pragma once

#include <memory>
#include <string_view>

#include "graph/io_contract.h"
#include "support/tensor.h"

namespace lathe {

/// One static graph, ready to run: named tensors in, named tensors out. What every executor is to
/// the rest of the program. A Session is used by one thread at a time (it has its own team inside).
class Session {
 public:
  virtual ~Session() = default;

  /// Names, shapes, types and encodings of the inputs and outputs.
  virtual const IoContract& io() const = 0;

  /// Binds memory to an input or output; it must stay valid until bound anew. The view has the
  /// contract's type and shape; its last dimension is contiguous, other strides are free (a cache
  /// input is a window into a longer buffer). Throws Error for an unknown name or a wrong view.
  /// An output may be left unbound, or be unbound by a view whose data is null: then it is not
  /// computed where nothing else needs it (logits of all but the last chunk of a prompt).
  virtual void bind(std::string_view name, const TensorView& view) = 0;

  /// Says which tokens of the calls to come count: the first `tokens` of AR and, of their logits,
  /// those from `first_logits` on. What outputs hold for the others is unspecified then; an
  /// executor may spare itself making it. 0 <= first_logits < tokens <= AR. To begin with, all
  /// count.
  virtual void want(int64_t tokens, int64_t first_logits) {
    (void)tokens;
    (void)first_logits;
  }

  /// Whether inputs have to lie dense in memory, with no free strides.
  virtual bool wants_dense_inputs() const { return false; }

  /// Runs once. All inputs must be bound. Our own executors do not throw, and `cpu` does not
  /// allocate. A session of ONNX Runtime throws Error where its device fails.
  virtual void run() = 0;
};

}  // namespace lathe
