#include "frontend/frontend.h"

#include <array>
#include <string_view>
#include <utility>

#include "frontend/hf/families.h"
#include "support/error.h"

namespace lathe {
namespace {

using Builder = Graph (*)(std::shared_ptr<const Checkpoint>, const GraphShape&);

// One line for each family: config.json's model_type and the file that builds it.
constexpr std::array<std::pair<std::string_view, Builder>, 1> kFamilies{{
    {"llama", hf::build_llama},
}};

}  // namespace

Graph build_hf_graph(std::shared_ptr<const Checkpoint> checkpoint, const GraphShape& shape) {
  const std::string& type = checkpoint->config().model_type;
  for (const auto& [name, build] : kFamilies) {
    if (name == type) return build(std::move(checkpoint), shape);
  }
  fail({.what = "no frontend for this model_type", .found = "'" + type + "'"});
}

}  // namespace lathe
