#include "support/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "support/error.h"
#include "support/json.h"
#include "support/lfs_pointer.h"

namespace lathe {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

constexpr size_t kLengthBytes = 8;
// The limit of the reference implementation.
constexpr uint64_t kMaxHeader = 100'000'000;
constexpr std::string_view kMetadata = "__metadata__";
constexpr std::string_view kPadding = "__padding.";

struct TypeFact {
  std::string_view name;
  int64_t bits;
  std::optional<DType> dtype;
};

constexpr std::array<TypeFact, 22> kTypes{{{"F32", 32, DType::f32},
                                           {"F16", 16, DType::f16},
                                           {"BF16", 16, DType::bf16},
                                           {"I64", 64, DType::i64},
                                           {"I32", 32, DType::i32},
                                           {"U16", 16, DType::u16},
                                           {"U8", 8, DType::u8},
                                           {"I8", 8, DType::i8},
                                           {"BOOL", 8, DType::boolean},
                                           {"F64", 64, {}},
                                           {"C64", 64, {}},
                                           {"U64", 64, {}},
                                           {"U32", 32, {}},
                                           {"I16", 16, DType::i16},
                                           {"F8_E5M2", 8, {}},
                                           {"F8_E4M3", 8, {}},
                                           {"F8_E8M0", 8, {}},
                                           {"F8_E4M3FNUZ", 8, {}},
                                           {"F8_E5M2FNUZ", 8, {}},
                                           {"F6_E2M3", 6, {}},
                                           {"F6_E3M2", 6, {}},
                                           {"F4", 4, {}}}};

std::string_view type_name(DType dtype) {
  for (const TypeFact& type : kTypes) {
    if (type.dtype == dtype) return type.name;
  }
  throw std::logic_error("safetensors has no type " + std::string(name_of(dtype)));
}

size_t padding_after(size_t size) {
  return (kSafetensorsAlignment - size % kSafetensorsAlignment) % kSafetensorsAlignment;
}

/// A list of whole numbers from 0 to 2^63 - 1.
std::vector<int64_t> read_numbers(const JsonFields& tensor, std::string_view key) {
  const nlohmann::json* list = tensor.find(key);
  std::vector<int64_t> numbers;
  bool good = list != nullptr && list->is_array();
  for (size_t i = 0; good && i < list->size(); ++i) {
    const nlohmann::json& item = (*list)[i];
    good = item.is_number_unsigned() && item.get<uint64_t>() <= uint64_t{1} << 62;
    if (good) numbers.push_back(item.get<int64_t>());
  }
  if (!good) {
    fail({.what = "malformed tensor entry",
          .where = tensor.place(key),
          .expected = "a list of whole numbers",
          .found = list == nullptr ? "nothing" : list->dump().substr(0, 80)});
  }
  return numbers;
}

SafetensorsEntry read_entry(const std::string& name, const nlohmann::json& description,
                            size_t data_begin, size_t data_size, const std::string& where) {
  const std::string place = where + ": " + printable(name, 120);
  const JsonFields fields(description, place);
  SafetensorsEntry entry;
  entry.name = name;
  entry.type = fields.string("dtype");
  const auto type = std::find_if(kTypes.begin(), kTypes.end(),
                                 [&](const TypeFact& fact) { return fact.name == entry.type; });
  if (type == kTypes.end()) {
    fail({.what = "unknown tensor type", .where = place, .found = printable(entry.type, 40)});
  }
  entry.dtype = type->dtype;
  entry.shape = read_numbers(fields, "shape");
  const std::vector<int64_t> offsets = read_numbers(fields, "data_offsets");
  if (offsets.size() != 2 || offsets[0] > offsets[1]) {
    fail({.what = "malformed data_offsets",
          .where = place,
          .expected = "[begin, end]",
          .found = to_string(offsets)});
  }
  if (static_cast<uint64_t>(offsets[1]) > data_size) {
    fail({.what = "the tensor lies beyond the end of the file",
          .where = place,
          .expected = std::to_string(offsets[1]) + " bytes of data",
          .found = std::to_string(data_size),
          .advice = "the file is truncated; download it again"});
  }
  entry.begin = data_begin + static_cast<size_t>(offsets[0]);
  entry.size = static_cast<size_t>(offsets[1] - offsets[0]);
  const int64_t count = checked_elements(entry.shape);
  const auto bits = static_cast<int64_t>(entry.size) * 8;
  if (count < 0 || count > bits / type->bits || count * type->bits != bits) {
    fail({.what = "the size of the tensor does not follow from its shape",
          .where = place,
          .expected = "the bytes of " + entry.type + " " + to_string(entry.shape),
          .found = std::to_string(entry.size)});
  }
  return entry;
}

/// The format wants the tensors to cover the data exactly: no hole, no overlap, nothing left over.
void check_coverage(std::vector<SafetensorsEntry>& entries, size_t data_begin, size_t file_size,
                    const std::string& where) {
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return std::pair(a.begin, a.size) < std::pair(b.begin, b.size);
  });
  size_t at = data_begin;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.begin != at) {
      fail({.what = entry.begin < at ? "the tensor overlaps the one before it"
                                     : "there is a hole before the tensor",
            .where = where + ": " + printable(entry.name, 120),
            .expected = "data from byte " + std::to_string(at - data_begin),
            .found = std::to_string(entry.begin - data_begin)});
    }
    at += entry.size;
  }
  if (at != file_size) {
    fail({.what = "the file is longer than its tensors",
          .where = where,
          .expected = std::to_string(at) + " bytes",
          .found = std::to_string(file_size)});
  }
}

}  // namespace

SafetensorsHeader parse_safetensors(std::span<const std::byte> file, const std::string& where) {
  refuse_lfs_pointer(file, where);
  uint64_t length = 0;
  if (file.size() < kLengthBytes) {
    fail({.what = "not a safetensors file",
          .where = where,
          .expected = "at least 8 bytes",
          .found = std::to_string(file.size())});
  }
  std::memcpy(&length, file.data(), kLengthBytes);
  if (length > std::min<uint64_t>(kMaxHeader, file.size() - kLengthBytes)) {
    fail(
        {.what = "not a safetensors file, or a truncated one",
         .where = where,
         .expected = "a header within the file of at most " + std::to_string(kMaxHeader) + " bytes",
         .found = "a header of " + std::to_string(length) + " bytes in a file of " +
                  std::to_string(file.size())});
  }
  const size_t data_begin = kLengthBytes + static_cast<size_t>(length);
  const std::string_view text(reinterpret_cast<const char*>(file.data()) + kLengthBytes,
                              static_cast<size_t>(length));
  if (!text.starts_with('{')) {
    fail({.what = "not a safetensors file",
          .where = where,
          .expected = "a header that starts with '{'"});
  }
  const nlohmann::json json = parse_json(text, where + " (header)");

  SafetensorsHeader header;
  for (const auto& [name, description] : json.items()) {
    if (name == kMetadata) {
      const JsonFields fields(description, where + ": " + std::string(kMetadata));
      for (const auto& item : description.items()) {
        header.metadata[item.key()] = fields.string(item.key());
      }
      continue;
    }
    header.entries.push_back(
        read_entry(name, description, data_begin, file.size() - data_begin, where));
  }
  check_coverage(header.entries, data_begin, file.size(), where);
  std::erase_if(header.entries,
                [](const SafetensorsEntry& entry) { return entry.name.starts_with(kPadding); });
  std::sort(header.entries.begin(), header.entries.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return header;
}

SafetensorsFile SafetensorsFile::open(const std::filesystem::path& path) {
  SafetensorsFile file;
  file.file_ = MappedFile::open(path);
  file.header_ = parse_safetensors(file.file_.bytes(), path.string());
  return file;
}

const SafetensorsEntry* SafetensorsFile::find(std::string_view name) const {
  const auto found = std::lower_bound(
      header_.entries.begin(), header_.entries.end(), name,
      [](const SafetensorsEntry& entry, std::string_view key) { return entry.name < key; });
  return found == header_.entries.end() || found->name != name ? nullptr : &*found;
}

const SafetensorsEntry& SafetensorsFile::get(std::string_view name) const {
  const SafetensorsEntry* entry = find(name);
  if (entry == nullptr) {
    fail({.what = "the tensor is missing",
          .where = file_.path().string() + ": " + printable(name, 120)});
  }
  return *entry;
}

SafetensorsWriter::SafetensorsWriter(const std::filesystem::path& path,
                                     const std::map<std::string, std::string>& metadata,
                                     std::vector<SafetensorsDeclaration> tensors, Observer observer)
    : output_(path), observer_(std::move(observer)), tensors_(std::move(tensors)) {
  nlohmann::json header = nlohmann::json::object();
  if (!metadata.empty()) header[std::string(kMetadata)] = metadata;
  size_t at = 0;
  const auto declare = [&](const std::string& name, DType dtype, const Shape& shape) {
    const size_t end = at + static_cast<size_t>(byte_size(dtype, shape));
    if (header.contains(name)) throw std::logic_error("tensor declared twice: " + name);
    header[name] = {{"dtype", type_name(dtype)}, {"shape", shape}, {"data_offsets", {at, end}}};
    at = end;
  };
  for (size_t i = 0; i < tensors_.size(); ++i) {
    declare(tensors_[i].name, tensors_[i].dtype, tensors_[i].shape);
    if (const size_t padding = padding_after(at); padding > 0) {
      declare(std::string(kPadding) + std::to_string(i), DType::u8,
              {static_cast<int64_t>(padding)});
    }
  }
  std::string text = header.dump();
  text.append(padding_after(kLengthBytes + text.size()), ' ');
  const uint64_t length = text.size();
  if (length > kMaxHeader) {
    fail({.what = "the header of the file would be too large",
          .where = path.string(),
          .expected = "at most " + std::to_string(kMaxHeader) + " bytes",
          .found = std::to_string(length)});
  }
  put(std::as_bytes(std::span(&length, 1)));
  put(std::as_bytes(std::span(text)));
  finish_complete_tensors();
}

void SafetensorsWriter::write(std::string_view name, std::span<const std::byte> bytes) {
  // An empty tensor is complete from the start, and writing its nothing is right at any time.
  if (bytes.empty()) return;
  if (current_ == tensors_.size() || tensors_[current_].name != name) {
    throw std::logic_error("tensor written out of order: " + std::string(name));
  }
  const auto size =
      static_cast<size_t>(byte_size(tensors_[current_].dtype, tensors_[current_].shape));
  if (bytes.size() > size - done_) {
    throw std::logic_error("too many bytes for tensor " + std::string(name));
  }
  put(bytes);
  done_ += bytes.size();
  finish_complete_tensors();
}

void SafetensorsWriter::commit() {
  if (current_ != tensors_.size()) {
    throw std::logic_error("tensor not complete: " + tensors_[current_].name);
  }
  output_.commit();
}

void SafetensorsWriter::put(std::span<const std::byte> bytes) {
  output_.write(bytes);
  if (observer_) observer_(bytes);
}

void SafetensorsWriter::finish_complete_tensors() {
  while (current_ < tensors_.size()) {
    const auto size =
        static_cast<size_t>(byte_size(tensors_[current_].dtype, tensors_[current_].shape));
    if (done_ < size) return;
    const std::array<std::byte, kSafetensorsAlignment> zeros{};
    put(std::span(zeros).first(padding_after(size)));
    ++current_;
    done_ = 0;
  }
}

}  // namespace lathe
