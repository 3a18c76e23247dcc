#include "graph/slice_channels.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "graph/packed_weights.h"
#include "graph/stored_bytes.h"

namespace lathe {
namespace {

constexpr int64_t kLine = kPackedChannels * kPackedDepth;  // bytes

/// Rows of a source from `offset` elements on.
class LaterFloats final : public FloatSource {
 public:
  LaterFloats(std::shared_ptr<const FloatSource> source, int64_t offset)
      : source_(std::move(source)), offset_(offset) {}
  void read(int64_t begin, int64_t count, float* out) const override {
    source_->read(offset_ + begin, count, out);
  }

 private:
  std::shared_ptr<const FloatSource> source_;
  int64_t offset_;
};

/// The packed form of 8 or 4 bits, in groups of 16 channels.
struct PackedForm {
  std::optional<Int4Matrix> int4;
  int64_t group_bytes;

  explicit PackedForm(const Value& matrix) {
    if (matrix.dtype == DType::i4) int4 = int4_matrix(matrix);
    group_bytes = static_cast<int64_t>(
        int4 ? int4_group_bytes(*int4) : packed_weights_bytes(kPackedChannels, matrix.shape[1]));
  }

  int64_t groups_bytes(int64_t channels) const {
    return (channels + kPackedChannels - 1) / kPackedChannels * group_bytes;
  }

  void copy_channel(const std::byte* from, int64_t source, std::byte* to, int64_t target) const {
    from += source / kPackedChannels * group_bytes;
    to += target / kPackedChannels * group_bytes;
    source %= kPackedChannels;
    target %= kPackedChannels;
    if (int4) {
      copy_int4_channel(from, source, *int4, to, target);
      return;
    }
    for (int64_t line = 0; line < group_bytes; line += kLine) {
      std::memcpy(to + line + target * kPackedDepth, from + line + source * kPackedDepth,
                  kPackedDepth);
    }
  }
};

void slice_packed(const Value& whole, int64_t first, const Value& part, std::byte* bytes) {
  const PackedForm form(whole);
  const int64_t count = part.shape[0];
  for (int64_t c = 0; c < count; ++c) {
    form.copy_channel(whole.constant->bytes.get(), first + c, bytes, c);
  }
  const std::byte* sums = whole.constant->bytes.get() + form.groups_bytes(whole.shape[0]);
  std::memcpy(bytes + form.groups_bytes(count),
              sums + first * static_cast<int64_t>(sizeof(int32_t)),
              static_cast<size_t>(count) * sizeof(int32_t));
}

std::shared_ptr<const std::byte> slice_bytes(const Value& whole, int64_t first, const Value& part,
                                             int64_t byte_count) {
  std::shared_ptr<std::byte> bytes = aligned_bytes(byte_count);
  std::fill_n(bytes.get(), byte_count, std::byte{0});  // what no channel fills
  if (whole.constant->layout == Layout::packed) {
    slice_packed(whole, first, part, bytes.get());
  } else {
    const int64_t row_bytes = byte_count / part.shape[0];
    std::memcpy(bytes.get(), whole.constant->bytes.get() + first * row_bytes,
                static_cast<size_t>(byte_count));
  }
  return bytes;
}

}  // namespace

Value slice_channels(const Value& value, int64_t first, int64_t count, std::string_view suffix) {
  Value part = value;
  part.name += suffix;
  part.shape[0] = count;
  if (part.encoding && part.encoding->axis == 0) {
    const auto begin = value.encoding->scale.begin() + first;
    part.encoding->scale.assign(begin, begin + count);
  }
  auto constant = std::make_shared<Constant>(*value.constant);
  constant->name += suffix;
  part.constant = constant;
  constant->byte_count = stored_bytes(part);
  if (value.constant->floats != nullptr) {
    const int64_t width = elements(value.shape) / value.shape[0];
    constant->floats = std::make_shared<LaterFloats>(value.constant->floats, first * width);
  } else if (value.constant->bytes != nullptr) {
    constant->bytes = slice_bytes(value, first, part, constant->byte_count);
  }
  return part;
}

}  // namespace lathe
