#include "support/lfs_pointer.h"

#include "support/error.h"

namespace lathe {

void refuse_lfs_pointer(std::span<const std::byte> bytes, const std::string& where) {
  refuse_lfs_pointer(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
                     where);
}

void refuse_lfs_pointer(std::string_view text, const std::string& where) {
  // https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md: the first line of every pointer.
  if (!text.starts_with("version https://git-lfs.github.com/spec/")) return;
  fail({.what = "the file itself was not downloaded",
        .where = where,
        .found = "a Git LFS pointer",
        .advice = "run 'git lfs pull' in its folder or download the file again"});
}

}  // namespace lathe
