#include "checkpoint/gguf.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "support/error.h"
#include "support/lfs_pointer.h"
#include "support/utf8.h"

namespace lathe {
namespace {

static_assert(std::endian::native == std::endian::little, "GGUF files are little-endian");

// Value types, as the file numbers them.
enum ValueType : uint32_t {
  kUint8 = 0,
  kInt8 = 1,
  kUint16 = 2,
  kInt16 = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kUint64 = 10,
  kInt64 = 11,
  kFloat64 = 12
};

constexpr uint64_t kMaxKey = 65535;  // the format's limit
constexpr int kMaxNesting = 8;
constexpr uint64_t kMaxAlignment = uint64_t{1} << 20;
constexpr uint32_t kMaxDimensions = 4;

/// Bytes of a number of this type, 0 for what is not a number.
size_t number_size(uint32_t type) {
  switch (type) {
    case kUint8:
    case kInt8:
    case kBool:
      return 1;
    case kUint16:
    case kInt16:
      return 2;
    case kUint32:
    case kInt32:
    case kFloat32:
      return 4;
    case kUint64:
    case kInt64:
    case kFloat64:
      return 8;
    default:
      return 0;
  }
}

template <typename T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// A number of the file as the widest type of its kind. `type` is a number type.
GgufValue load_number(uint32_t type, const std::byte* at) {
  switch (type) {
    case kUint8:
      return uint64_t{load<uint8_t>(at)};
    case kInt8:
      return int64_t{load<int8_t>(at)};
    case kUint16:
      return uint64_t{load<uint16_t>(at)};
    case kInt16:
      return int64_t{load<int16_t>(at)};
    case kUint32:
      return uint64_t{load<uint32_t>(at)};
    case kInt32:
      return int64_t{load<int32_t>(at)};
    case kFloat32:
      return load<float>(at);
    case kBool:
      return load<uint8_t>(at) != 0;
    case kUint64:
      return load<uint64_t>(at);
    case kInt64:
      return load<int64_t>(at);
    default:
      return load<double>(at);
  }
}

/// Walks through the file; every step is checked against its end.
class Cursor {
 public:
  Cursor(std::span<const std::byte> file, const std::string& where) : file_(file), where_(where) {}

  size_t at() const { return at_; }
  size_t left() const { return file_.size() - at_; }
  /// What follows belongs to this key or tensor, a name inside the file; errors say it.
  void enter(std::string_view name) { name_ = name; }

  std::span<const std::byte> take(uint64_t size) {
    if (size > left()) {
      fail({.what = "the GGUF file ends early",
            .where = place(),
            .expected = std::to_string(size) + " more bytes",
            .found = std::to_string(left()),
            .advice = "the file is truncated or damaged; download it again"});
    }
    const auto bytes = file_.subspan(at_, static_cast<size_t>(size));
    at_ += static_cast<size_t>(size);
    return bytes;
  }

  template <typename T>
  T number() {
    return load<T>(take(sizeof(T)).data());
  }

  std::string_view string() {
    const auto size = number<uint64_t>();
    const auto bytes = take(size);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  GgufValue value(uint32_t type) {
    if (type == kString) return string();
    if (type == kArray) return array(1);
    const size_t size = number_size(type);
    if (size == 0) unknown(type);
    return load_number(type, take(size).data());
  }

 private:
  std::string place() const {
    const std::string name = name_.empty() ? "" : ": " + printable(name_, 120);
    return where_ + name + ": byte " + std::to_string(at_);
  }

  GgufArray array(int nesting) {
    GgufArray out;
    if (nesting > kMaxNesting) {
      fail({.what = "GGUF arrays are nested too deeply", .where = place()});
    }
    out.type = number<uint32_t>();
    out.count = number<uint64_t>();
    if (out.type == kString) {
      // No reservation: the count is only a claim, and every string takes at least eight bytes.
      for (uint64_t i = 0; i < out.count; ++i) out.strings.push_back(string());
    } else if (out.type == kArray) {
      for (uint64_t i = 0; i < out.count; ++i) array(nesting + 1);
    } else {
      const size_t size = number_size(out.type);
      if (size == 0) unknown(out.type);
      if (out.count > left() / size) take(std::numeric_limits<uint64_t>::max());
      out.bytes = take(out.count * size);
    }
    return out;
  }

  [[noreturn]] void unknown(uint32_t type) const {
    fail({.what = "unknown GGUF value type",
          .where = place(),
          .expected = "0 to 12",
          .found = std::to_string(type)});
  }

  std::span<const std::byte> file_;
  const std::string& where_;
  std::string_view name_;
  size_t at_ = 0;
};

void check_magic(Cursor& cursor, const std::string& where) {
  const auto magic = cursor.take(std::min<size_t>(4, cursor.left()));
  if (magic.size() < 4 || std::memcmp(magic.data(), "GGUF", 4) != 0) {
    fail({.what = "not a GGUF file",
          .where = where,
          .expected = "a Hugging Face checkpoint folder or a .gguf file"});
  }
  const auto version = cursor.number<uint32_t>();
  if (version == 2 || version == 3) return;
  const bool swapped = version == 0x02000000u || version == 0x03000000u;
  fail({.what = swapped ? "big-endian GGUF files are not supported"
                        : "this version of GGUF is not supported",
        .where = where,
        .expected = "version 2 or 3",
        .found = std::to_string(version)});
}

/// A tensor, and where its description says that its data is.
struct Described {
  GgufTensor tensor;
  size_t begin;  // counted from the start of the data, which is not known yet
  size_t size;
};

Described read_tensor(Cursor& cursor, const std::string& where) {
  GgufTensor tensor;
  cursor.enter({});
  const std::string_view name = cursor.string();
  cursor.enter(name);
  tensor.name = name;
  const std::string place = where + ": " + printable(tensor.name, 120);
  const auto dimensions = cursor.number<uint32_t>();
  if (dimensions > kMaxDimensions) {
    fail({.what = "too many dimensions",
          .where = place,
          .expected = "at most 4",
          .found = std::to_string(dimensions)});
  }
  for (uint32_t i = 0; i < dimensions; ++i) {
    const auto size = cursor.number<uint64_t>();
    tensor.shape.push_back(
        static_cast<int64_t>(std::min<uint64_t>(size, std::numeric_limits<int64_t>::max())));
  }
  std::reverse(tensor.shape.begin(), tensor.shape.end());
  const auto type = cursor.number<uint32_t>();
  tensor.type = find_ggml_type(type);
  if (tensor.type == nullptr) {
    fail({.what = "tensors of this type are not supported",
          .where = place,
          .expected = "one of " + ggml_types_read(),
          .found = ggml_type_name(type),
          .advice = "use another quantization of the model, such as Q8_0 or Q4_K_M"});
  }
  const auto offset = cursor.number<uint64_t>();
  const int64_t elements = checked_elements(tensor.shape);
  const int64_t row = tensor.shape.empty() ? 1 : tensor.shape.back();
  if (elements <= 0 || row % tensor.type->block != 0 ||
      elements / tensor.type->block > std::numeric_limits<int64_t>::max() / tensor.type->bytes) {
    fail({.what = "impossible tensor shape",
          .where = place,
          .expected = "rows of whole blocks of " + std::to_string(tensor.type->block),
          .found = to_string(tensor.shape)});
  }
  const auto size = static_cast<size_t>(elements / tensor.type->block * tensor.type->bytes);
  return {std::move(tensor), static_cast<size_t>(offset), size};
}

/// Gives every tensor its bytes and checks that they lie in the file, aligned and apart from the
/// others.
std::vector<GgufTensor> place_tensors(std::vector<Described> described, size_t data_begin,
                                      uint64_t alignment, std::span<const std::byte> file,
                                      const std::string& where) {
  const size_t available = file.size() - data_begin;
  std::sort(described.begin(), described.end(),
            [](const Described& a, const Described& b) { return a.begin < b.begin; });
  std::vector<GgufTensor> tensors;
  for (Described& one : described) {
    const std::string place = where + ": " + printable(one.tensor.name, 120);
    if (one.begin % alignment != 0) {
      fail({.what = "misaligned tensor",
            .where = place,
            .expected = "an offset that is a multiple of " + std::to_string(alignment),
            .found = std::to_string(one.begin)});
    }
    if (one.begin > available || one.size > available - one.begin) {
      fail({.what = "the tensor lies beyond the end of the file",
            .where = place,
            .expected = std::to_string(one.size) + " bytes at offset " + std::to_string(one.begin),
            .found = std::to_string(available) + " bytes of data",
            .advice = "the file is truncated; download it again"});
    }
    one.tensor.bytes = file.subspan(data_begin + one.begin, one.size);
    if (!tensors.empty()) {
      const auto& before = tensors.back().bytes;
      if (one.tensor.bytes.data() < before.data() + before.size()) {
        fail(
            {.what = "the tensor overlaps " + printable(tensors.back().name, 120), .where = place});
      }
    }
    tensors.push_back(std::move(one.tensor));
  }
  return tensors;
}

}  // namespace

Gguf Gguf::parse(std::span<const std::byte> file, const std::string& where) {
  refuse_lfs_pointer(file, where);
  Gguf out;
  out.where_ = where;
  Cursor cursor(file, out.where_);
  check_magic(cursor, where);
  const auto tensor_count = cursor.number<uint64_t>();
  const auto key_count = cursor.number<uint64_t>();
  for (uint64_t i = 0; i < key_count; ++i) {
    cursor.enter({});
    const std::string_view key = cursor.string();
    cursor.enter(key);
    if (key.size() > kMaxKey) {
      fail({.what = "a metadata key is too long", .where = where, .found = printable(key, 40)});
    }
    const auto type = cursor.number<uint32_t>();
    if (!out.metadata_.emplace(key, cursor.value(type)).second) {
      fail({.what = "a metadata key is given twice", .where = where, .found = printable(key, 80)});
    }
  }
  std::vector<Described> described;
  for (uint64_t i = 0; i < tensor_count; ++i) described.push_back(read_tensor(cursor, where));

  constexpr std::string_view kAlignment = "general.alignment";
  const int64_t alignment = out.integer(kAlignment).value_or(32);
  if (alignment < 1 || static_cast<uint64_t>(alignment) > kMaxAlignment ||
      !std::has_single_bit(static_cast<uint64_t>(alignment))) {
    fail({.what = "impossible alignment",
          .where = where + ": " + std::string(kAlignment),
          .expected = "a power of two up to " + std::to_string(kMaxAlignment),
          .found = std::to_string(alignment)});
  }
  const auto unit = static_cast<size_t>(alignment);
  // A file without tensors may end right after its header.
  const size_t data_begin = std::min((cursor.at() + unit - 1) / unit * unit, file.size());
  out.tensors_ = place_tensors(std::move(described), data_begin, unit, file, where);
  out.sort_tensors();
  return out;
}

void Gguf::add_tensors_of(const Gguf& part) {
  tensors_.insert(tensors_.end(), part.tensors_.begin(), part.tensors_.end());
  sort_tensors();
}

void Gguf::sort_tensors() {
  std::sort(tensors_.begin(), tensors_.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  const auto twice =
      std::adjacent_find(tensors_.begin(), tensors_.end(),
                         [](const auto& a, const auto& b) { return a.name == b.name; });
  if (twice == tensors_.end()) return;
  fail({.what = "a tensor is given twice", .where = where_ + ": " + printable(twice->name, 120)});
}

const GgufTensor* Gguf::find_tensor(std::string_view name) const {
  const auto found = std::lower_bound(
      tensors_.begin(), tensors_.end(), name,
      [](const GgufTensor& tensor, std::string_view key) { return tensor.name < key; });
  return found == tensors_.end() || found->name != name ? nullptr : &*found;
}

const GgufValue* Gguf::find(std::string_view key) const {
  const auto found = metadata_.find(key);
  return found == metadata_.end() ? nullptr : &found->second;
}

void Gguf::wrong_type(std::string_view key, const char* expected) const {
  fail({.what = "metadata of the wrong type",
        .where = where_ + ": " + std::string(key),
        .expected = expected});
}

std::optional<int64_t> Gguf::integer(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  GgufValue scalar;
  if (const auto* array = std::get_if<GgufArray>(value)) {
    const size_t size = number_size(array->type);
    if (size == 0 || array->count == 0) wrong_type(key, "a whole number");
    for (size_t at = size; at < array->bytes.size(); at += size) {
      if (std::memcmp(array->bytes.data(), array->bytes.data() + at, size) != 0) {
        fail({.what = "settings that differ from layer to layer are not supported",
              .where = where_ + ": " + std::string(key)});
      }
    }
    scalar = load_number(array->type, array->bytes.data());
  } else {
    scalar = *value;
  }
  if (const auto* number = std::get_if<int64_t>(&scalar)) return *number;
  if (const auto* number = std::get_if<uint64_t>(&scalar)) {
    if (*number <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return static_cast<int64_t>(*number);
    }
  }
  wrong_type(key, "a whole number");
}

std::optional<double> Gguf::number(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* number = std::get_if<float>(value)) return as_written(*number);
  if (const auto* number = std::get_if<double>(value)) return *number;
  wrong_type(key, "a floating-point number");
}

std::optional<bool> Gguf::boolean(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* flag = std::get_if<bool>(value)) return *flag;
  wrong_type(key, "true or false");
}

std::optional<std::string_view> Gguf::string(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  const auto* text = std::get_if<std::string_view>(value);
  if (text == nullptr || !is_utf8(*text)) wrong_type(key, "UTF-8 text");
  return *text;
}

const std::vector<std::string_view>* Gguf::strings(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return nullptr;
  const auto* array = std::get_if<GgufArray>(value);
  if (array == nullptr || array->type != kString ||
      !std::all_of(array->strings.begin(), array->strings.end(), is_utf8)) {
    wrong_type(key, "a list of UTF-8 texts");
  }
  return &array->strings;
}

template <typename T>
std::optional<std::vector<T>> Gguf::numbers(std::string_view key, std::span<const uint32_t> types,
                                            const char* expected) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  const auto* array = std::get_if<GgufArray>(value);
  if (array == nullptr || std::find(types.begin(), types.end(), array->type) == types.end()) {
    wrong_type(key, expected);
  }
  std::vector<T> out(static_cast<size_t>(array->count));
  if (!out.empty()) std::memcpy(out.data(), array->bytes.data(), array->bytes.size());
  return out;
}

std::optional<std::vector<int32_t>> Gguf::integers(std::string_view key) const {
  constexpr std::array<uint32_t, 2> kTypes{kInt32, kUint32};
  return numbers<int32_t>(key, kTypes, "a list of 32-bit integers");
}

std::optional<std::vector<float>> Gguf::floats(std::string_view key) const {
  constexpr std::array<uint32_t, 1> kTypes{kFloat32};
  return numbers<float>(key, kTypes, "a list of 32-bit floats");
}

double as_written(float value) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  double out = value;
  std::from_chars(text.data(), end, out);
  return out;
}

}  // namespace lathe
