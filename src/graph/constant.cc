#include "graph/constant.h"

#include <algorithm>
#include <new>
#include <utility>

namespace lathe {
namespace {

class HeldFloats final : public FloatSource {
 public:
  explicit HeldFloats(std::vector<float> values) : values_(std::move(values)) {}
  void read(int64_t begin, int64_t count, float* out) const override {
    std::copy_n(values_.begin() + begin, count, out);
  }

 private:
  std::vector<float> values_;
};

}  // namespace

std::shared_ptr<const Constant> float_constant(std::string name, std::vector<float> values) {
  auto constant = std::make_shared<Constant>();
  constant->name = std::move(name);
  constant->byte_count = static_cast<int64_t>(values.size() * sizeof(float));
  constant->floats = std::make_shared<HeldFloats>(std::move(values));
  return constant;
}

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

std::shared_ptr<const Constant> bytes_constant(std::string name, std::vector<std::byte> bytes,
                                               Layout layout) {
  const auto byte_count = static_cast<int64_t>(bytes.size());
  auto held = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  return code_constant(std::move(name), layout,
                       std::shared_ptr<const std::byte>(held, held->data()), byte_count);
}

}  // namespace lathe
