#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace lathe {

/// What a user is told when something from outside is wrong: always one line.
/// Empty parts are left out. Rendered as
///   `<where>: <what>: expected <expected>, found <found>; <advice>`
struct Complaint {
  std::string what = {};   ///< "tensor has the wrong shape"
  std::string where = {};  ///< file, then tensor, byte or line: "model.safetensors: lm_head.weight"
  std::string expected = {};  ///< "[1536, 128]"
  std::string found = {};     ///< "[128, 1536]"
  std::string advice = {};    ///< what to do: "download the file again"
};

/// A failure that a user caused or can mend. `what()` is the one line. Thrown during set-up only:
/// nothing throws inside a decode step, but for a device that fails (executors/session.h). The
/// command line prints it and exits with 1.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& line) : std::runtime_error(line) {}
};

/// Text from outside made safe for one terminal line: control characters become spaces, invalid
/// UTF-8 becomes '?', and anything over `limit` bytes is cut with "...".
std::string printable(std::string_view text, size_t limit = 160);

/// Throws Error with the line that `complaint` gives.
[[noreturn]] void fail(const Complaint& complaint);

}  // namespace lathe
