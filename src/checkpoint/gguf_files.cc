#include "checkpoint/gguf_files.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "support/error.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;

/// What the name of a part says: "NAME-00002-of-00005.gguf".
struct PartName {
  std::string stem;
  int64_t number;  // from 1
  int64_t count;

  std::string of(int64_t part) const {
    const auto five = [](int64_t value) {
      const std::string digits = std::to_string(value);
      return std::string(5 - std::min<size_t>(5, digits.size()), '0') + digits;
    };
    return stem + "-" + five(part) + "-of-" + five(count) + ".gguf";
  }
};

std::optional<int64_t> five_digits(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1) return std::nullopt;
  return value;
}

std::optional<PartName> part_name(const std::string& name) {
  constexpr std::string_view kShape = "-00000-of-00000.gguf";
  if (name.size() <= kShape.size()) return std::nullopt;
  const std::string_view tail = std::string_view(name).substr(name.size() - kShape.size());
  const auto number = five_digits(tail.substr(1, 5));
  const auto count = five_digits(tail.substr(10, 5));
  if (tail[0] != '-' || tail.substr(6, 4) != "-of-" || tail.substr(15) != ".gguf" || !number ||
      !count || *number > *count) {
    return std::nullopt;
  }
  return PartName{name.substr(0, name.size() - kShape.size()), *number, *count};
}

[[noreturn]] void fail_missing_parts(const fs::path& folder, const PartName& name) {
  std::string first;
  int64_t missing = 0;
  for (int64_t part = 1; part <= name.count; ++part) {
    if (file_exists(folder / name.of(part))) continue;
    if (missing++ == 0) first = (folder / name.of(part)).string();
  }
  const std::string more =
      missing > 1 ? " (" + std::to_string(missing) + " are missing in all)" : "";
  fail({.what = "a part of the split GGUF file is missing" + more,
        .where = first,
        .expected = std::to_string(name.count) + " parts in one folder",
        .advice = "download the missing parts into the folder"});
}

void expect_setting(const Gguf& part, std::string_view key, int64_t expected) {
  const auto found = part.integer(key);
  if (found == expected) return;
  fail({.what = "the file is not that part of the model which its name says",
        .where = part.where() + ": " + std::string(key),
        .expected = std::to_string(expected),
        .found = found ? std::to_string(*found) : "nothing"});
}

GgufFiles open_parts(const fs::path& folder, const PartName& name) {
  GgufFiles out;
  for (int64_t part = 1; part <= name.count; ++part) {
    const fs::path path = folder / name.of(part);
    if (!file_exists(path)) fail_missing_parts(folder, name);
    out.files.push_back(MappedFile::open(path));
    Gguf gguf = Gguf::parse(out.files.back().bytes(), path.string());
    expect_setting(gguf, "split.count", name.count);
    expect_setting(gguf, "split.no", part - 1);
    if (part == 1) {
      out.gguf = std::move(gguf);
    } else {
      out.gguf.add_tensors_of(gguf);
    }
  }
  constexpr std::string_view kTensors = "split.tensors.count";
  const auto tensors = static_cast<int64_t>(out.gguf.tensors().size());
  if (const auto stated = out.gguf.integer(kTensors); stated && *stated != tensors) {
    fail({.what = "the parts do not have all tensors of the model",
          .where = out.gguf.where() + ": " + std::string(kTensors),
          .expected = std::to_string(*stated),
          .found = std::to_string(tensors),
          .advice = "download the parts again"});
  }
  return out;
}

}  // namespace

GgufFiles open_gguf_files(const fs::path& path) {
  MappedFile file = MappedFile::open(path);
  Gguf gguf = Gguf::parse(file.bytes(), path.string());
  const int64_t parts = gguf.integer("split.count").value_or(1);
  if (parts == 1) {
    GgufFiles out;
    out.files.push_back(std::move(file));
    out.gguf = std::move(gguf);
    return out;
  }
  const auto name = part_name(path.filename().string());
  if (!name) {
    fail({.what = "the file is a part of a split GGUF file, but its name does not say which",
          .where = path.string(),
          .expected = "a name that ends in -00001-of-00005.gguf, where there are five",
          .found = std::to_string(parts) + " parts"});
  }
  return open_parts(path.parent_path(), *name);
}

}  // namespace lathe
