#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lathe {

struct RejectedOperator {
  std::string name;  ///< of the ONNX node
  std::string type;  ///< "Acosh"

  bool operator==(const RejectedOperator&) const = default;
};

/// The operators that a log of ONNX Runtime says the HTP's provider does not support, each once.
/// Its error only says that there are some.
std::vector<RejectedOperator> rejected_operators(std::string_view log);

}  // namespace lathe
