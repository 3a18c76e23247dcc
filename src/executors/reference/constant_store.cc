#include "executors/reference/constant_store.h"

namespace lathe {

bool ConstantStore::keeps(const Value& value) const {
  const FloatSource* source = value.constant->floats.get();
  return kept_.contains(source) || byte_size(value.dtype, value.shape) <= budget_;
}

HeldTensor ConstantStore::get(const Value& value, BufferPool& pool) {
  const Constant& constant = *value.constant;
  if (constant.floats == nullptr) {
    // Views carry no const; nothing writes to the inputs of a node.
    const auto bytes = std::const_pointer_cast<std::byte>(constant.bytes);
    return {dense_view(value.dtype, value.shape, bytes.get()), bytes};
  }
  const FloatSource* source = constant.floats.get();
  if (const auto kept = kept_.find(source); kept != kept_.end()) {
    return {dense_view(value.dtype, value.shape, kept->second.get()), kept->second};
  }
  const int64_t bytes = byte_size(value.dtype, value.shape);
  const std::shared_ptr<std::byte> owner = pool.take(bytes);
  source->read(0, elements(value.shape), reinterpret_cast<float*>(owner.get()));
  if (bytes <= budget_) {
    budget_ -= bytes;
    kept_.emplace(source, owner);
  }
  return {dense_view(value.dtype, value.shape, owner.get()), owner};
}

}  // namespace lathe
