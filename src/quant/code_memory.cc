#include "quant/code_memory.h"

#include <new>
#include <utility>

namespace lathe {

std::shared_ptr<std::byte> aligned_bytes(int64_t count) {
  constexpr std::align_val_t kAlignment{64};
  auto* bytes = static_cast<std::byte*>(::operator new(static_cast<size_t>(count), kAlignment));
  return {bytes, [](std::byte* p) { ::operator delete(p, kAlignment); }};
}

std::shared_ptr<const Constant> code_constant(std::string name, Layout layout,
                                              std::shared_ptr<const std::byte> bytes,
                                              int64_t byte_count) {
  auto constant = std::make_shared<Constant>();
  constant->name = std::move(name);
  constant->layout = layout;
  constant->bytes = std::move(bytes);
  constant->byte_count = byte_count;
  return constant;
}

}  // namespace lathe
