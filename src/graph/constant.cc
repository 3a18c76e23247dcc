#include "graph/constant.h"

#include <algorithm>
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

std::shared_ptr<const Constant> bytes_constant(std::string name, std::vector<std::byte> bytes,
                                               Layout layout) {
  auto constant = std::make_shared<Constant>();
  constant->name = std::move(name);
  constant->layout = layout;
  constant->byte_count = static_cast<int64_t>(bytes.size());
  auto held = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  constant->bytes = std::shared_ptr<const std::byte>(held, held->data());
  return constant;
}

}  // namespace lathe
