#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>

#include "support/error.h"

namespace lathe {

/// Bytes that begin on a cache line, so that vector loads of a row never straddle two.
class AlignedBuffer {
 public:
  static constexpr std::align_val_t kAlignment{64};
  /// More than this (1 TiB) is a damaged file, not a model.
  static constexpr int64_t kMaxBytes = int64_t{1} << 40;

  AlignedBuffer() = default;
  /// The bytes are not set. Throws Error, naming `what`, where the memory is not to be had.
  AlignedBuffer(int64_t bytes, const char* what) {
    if (bytes <= kMaxBytes) {
      data_.reset(static_cast<std::byte*>(
          ::operator new(static_cast<size_t>(bytes), kAlignment, std::nothrow)));
    }
    if (data_ == nullptr) {
      fail({.what = std::string("not enough memory for ") + what,
            .expected = std::to_string(bytes) + " bytes",
            .advice = "compile the model with a smaller --context"});
    }
  }

  std::byte* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(std::byte* data) const { ::operator delete(data, kAlignment); }
  };
  std::unique_ptr<std::byte, Free> data_;
};

}  // namespace lathe
