#include "passes/rotary_rows.h"

#include <algorithm>
#include <vector>

#include "passes/match.h"

namespace lathe {

const Node* RotaryRows::find(ValueId value) {
  const Node* unsqueeze = producer_if(graph_, value, {Op::unsqueeze});
  if (unsqueeze == nullptr || unsqueeze->attributes.integer("dim") != 1) return nullptr;
  const Node* picked = producer_if(graph_, unsqueeze->inputs[0], {Op::embedding});
  if (picked == nullptr || !has_floats(graph_, picked->inputs[0])) return nullptr;
  return halves_alike(graph_.value(picked->inputs[0])) ? unsqueeze : nullptr;
}

bool RotaryRows::halves_alike(const Value& table) {
  const auto known = alike_.find(table.constant.get());
  if (known != alike_.end()) return known->second;
  const int64_t width = table.shape[1];
  std::vector<float> row(static_cast<size_t>(width));
  bool alike = width % 2 == 0;
  for (int64_t r = 0; alike && r < table.shape[0]; ++r) {
    table.constant->floats->read(r * width, width, row.data());
    alike = std::equal(row.begin(), row.begin() + width / 2, row.begin() + width / 2);
  }
  alike_.emplace(table.constant.get(), alike);
  return alike;
}

}  // namespace lathe
