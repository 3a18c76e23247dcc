#include "artifact/container.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <memory>
#include <set>
#include <utility>

#include "support/error.h"
#include "support/hasher.h"
#include "support/lfs_pointer.h"
#include "support/mapped_file.h"

namespace lathe {
namespace {

constexpr size_t kLengthBytes = 8;                  // of a safetensors file: the size of its header
constexpr uint64_t kMaxHeader = uint64_t{1} << 23;  // models of 100 layers take a quarter of it
constexpr int64_t kChecksumBytes = 64;  // a whole unit of alignment: no filler that nothing covers

std::string checksum_text(const Hasher& hasher) {
  return fmt::format("{:<63}\n", "xxh3-128 " + hasher.hex());
}

[[noreturn]] void refuse_checkpoint(const std::string& where, std::string found) {
  fail({.what = "not a compiled model",
        .where = where,
        .expected = "a file that `lathe compile` wrote",
        .found = std::move(found),
        .advice = "compile it first: lathe compile SRC -o model.lathe"});
}

/// Other kinds of files, told from their first bytes.
void refuse_other_formats(const std::filesystem::path& path) {
  const std::string where = path.string();
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) refuse_checkpoint(where, "a folder");
  const MappedFile file = MappedFile::open(path);
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                              file.bytes().size());
  if (text.starts_with("GGUF")) refuse_checkpoint(where, "a GGUF checkpoint");
  refuse_lfs_pointer(text, where);
  uint64_t header = 0;
  if (text.size() > kLengthBytes) std::memcpy(&header, text.data(), kLengthBytes);
  if (header == 0 || header > kMaxHeader || text[kLengthBytes] != '{') {
    fail({.what = "not a compiled model",
          .where = where,
          .expected = "a file that `lathe compile` wrote",
          .found = text.empty() ? "an empty file" : "a file of another kind"});
  }
}

std::vector<SafetensorsDeclaration> declare(const std::vector<StoredTensor>& small,
                                            const std::vector<StoredTensor>& weights) {
  std::vector<SafetensorsDeclaration> all;
  std::set<std::string_view> names;
  const auto add = [&](const StoredTensor& tensor) {
    if (tensor.name.starts_with("lathe.") || tensor.name.starts_with("__") ||
        !names.insert(tensor.name).second) {
      fail({.what = "a tensor name cannot be used, or not twice", .where = tensor.name});
    }
    all.push_back({tensor.name, tensor.dtype, tensor.shape});
  };
  for (const StoredTensor& tensor : small) add(tensor);
  all.push_back({std::string(kChecksumName), DType::u8, {kChecksumBytes}});
  for (const StoredTensor& tensor : weights) add(tensor);
  all.push_back({std::string(kWeightsChecksumName), DType::u8, {kChecksumBytes}});
  return all;
}

/// Keeps what is written readable: a bound on the header, every character of it escaped.
void check_header_size(const std::map<std::string, std::string>& metadata, size_t tensors) {
  constexpr size_t kEntryBytes = 1024;  // two names with their types and offsets
  size_t size = tensors * kEntryBytes;
  for (const auto& [key, text] : metadata) size += 2 * (key.size() + text.size());
  if (size > kMaxHeader) {
    fail({.what = "the graphs are too large to be stored",
          .expected = std::to_string(kMaxHeader) + " bytes",
          .found = std::to_string(size)});
  }
}

}  // namespace

std::string checksum_text(std::span<const std::byte> bytes) {
  Hasher hasher;
  hasher.add(bytes);
  return checksum_text(hasher);
}

void write_container(const std::filesystem::path& path, std::map<std::string, std::string> metadata,
                     const std::vector<StoredTensor>& small,
                     const std::vector<StoredTensor>& weights) {
  metadata[std::string(kVersionKey)] = std::to_string(kArtifactVersion);
  check_header_size(metadata, small.size() + weights.size());
  auto hasher = std::make_unique<Hasher>();
  SafetensorsWriter writer(path, metadata, declare(small, weights),
                           [&](std::span<const std::byte> bytes) { hasher->add(bytes); });
  const auto write_checksum = [&](std::string_view name) {
    const std::string text = checksum_text(*hasher);
    hasher = std::make_unique<Hasher>();
    writer.write(name, std::as_bytes(std::span(text)));
  };
  for (const StoredTensor& tensor : small) writer.write(tensor.name, tensor.bytes);
  write_checksum(kChecksumName);
  for (const StoredTensor& tensor : weights) writer.write(tensor.name, tensor.bytes);
  write_checksum(kWeightsChecksumName);
  writer.commit();
}

Container Container::open(const std::filesystem::path& path) {
  refuse_other_formats(path);
  Container container;
  container.file_ = SafetensorsFile::open(path);
  container.check_version();
  container.check(kChecksumName, 0, "the description of the model");
  return container;
}

const std::string& Container::metadata(std::string_view key) const {
  const auto found = file_.metadata().find(std::string(key));
  if (found == file_.metadata().end()) {
    fail({.what = "the entry is missing", .where = std::string(key)});
  }
  return found->second;
}

void Container::check_version() const {
  const std::string where = file_.file().path().string();
  const auto found = file_.metadata().find(std::string(kVersionKey));
  if (found == file_.metadata().end()) refuse_checkpoint(where, "a safetensors file of weights");
  const std::string& text = found->second;
  int64_t version = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, version);
  if (error != std::errc() || stop != end || version < 1) {
    fail({.what = "the format version is not a number",
          .where = where,
          .found = printable(text, 40),
          .advice = std::string(kDamagedAdvice)});
  }
  if (version != kArtifactVersion) {
    const bool newer = version > kArtifactVersion;
    fail({.what = "a compiled model of another format version",
          .where = where,
          .expected = std::to_string(kArtifactVersion),
          .found = std::to_string(version),
          .advice = newer ? "get a newer lathe, or compile the model with this one"
                          : "compile the model again"});
  }
}

void Container::check_weights() const {
  check(kWeightsChecksumName, file_.get(kChecksumName).begin, "the weights");
}

void Container::check(std::string_view checksum, size_t begin, std::string_view covered) const {
  const std::string where = file_.file().path().string();
  const SafetensorsEntry* entry = file_.find(checksum);
  if (entry == nullptr || entry->begin < begin ||
      entry->size != static_cast<size_t>(kChecksumBytes)) {
    fail({.what = "the checksum is missing",
          .where = where,
          .found = "no tensor " + std::string(checksum),
          .advice = std::string(kDamagedAdvice)});
  }
  const std::string expected =
      checksum_text(file_.file().bytes().subspan(begin, entry->begin - begin));
  if (std::memcmp(expected.data(), file_.bytes(*entry).data(), expected.size()) != 0) {
    fail({.what = fmt::format("the checksum of {} is wrong", covered),
          .where = where,
          .advice = std::string(kDamagedAdvice)});
  }
}

}  // namespace lathe
