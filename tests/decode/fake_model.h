#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "decode/graph_io.h"
#include "executors/session.h"

namespace lathe::test {

/// A model without weights. The key and value of a token are hashes of its id and position; the
/// logits of a row are hashes of all keys and values that the row attends, each with the place it
/// was found in. A wrong mask, position, cache slot, stride, side or padding therefore changes
/// every logit.
struct FakeModel {
  int64_t context = 16;
  int64_t vocab = 32;
  DType cache_type = DType::u8;
  DType wide_type = DType::u16;  ///< mask and logits
  CacheStyle cache_style = CacheStyle::pairs;
  int64_t window = 0;  ///< of the second layer, where it is less than the context; style `pairs`

  /// Two layers that differ in heads and head sizes, keys from values too.
  IoContract contract(int64_t tokens_per_call) const;

  /// The codes (or values) of the logits after all of `ids`, from the definition: no cache, no
  /// mask.
  std::vector<int32_t> logits_after(std::span<const int64_t> ids) const;
  /// The id that greedy generation appends to `ids`.
  int64_t greedy_after(std::span<const int64_t> ids) const;
};

/// What a test may look at while a runner owns the session.
struct FakeSessionLog {
  int64_t runs = 0;
  int64_t runs_with_logits = 0;
  /// Unbound inputs, mask codes that are neither of the two, caches that are read and written in
  /// the same memory, slots outside the cache, floats that are no numbers.
  int64_t faults = 0;
};

/// Runs FakeModel behind the interface of every executor. Refuses what that interface refuses, and
/// gaps in its inputs where it wants them dense.
std::unique_ptr<Session> make_fake_session(const IoContract& contract, FakeSessionLog* log,
                                           bool dense = false);

/// Element of a view of u8, u16, i32 or f32 as a whole number.
int32_t load(const TensorView& view, std::initializer_list<int64_t> index);

}  // namespace lathe::test
