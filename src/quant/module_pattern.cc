#include "quant/module_pattern.h"

#include <regex>
#include <stdexcept>
#include <utility>

namespace lathe {
namespace {

constexpr size_t kLongestExpression = 256;

}  // namespace

struct ModulePattern::Impl {
  std::string expression;
  std::regex regex;
};

ModulePattern::ModulePattern(std::string expression) {
  if (expression.empty() || expression.size() > kLongestExpression) {
    throw std::invalid_argument("not of 1 to 256 bytes");
  }
  try {
    std::regex regex(expression, std::regex::ECMAScript | std::regex::optimize);
    impl_ = std::make_shared<const Impl>(Impl{std::move(expression), std::move(regex)});
  } catch (const std::regex_error& error) {
    throw std::invalid_argument(error.what());
  }
}

const std::string& ModulePattern::expression() const { return impl_->expression; }

bool ModulePattern::is_found_in(std::string_view module) const {
  return std::regex_search(module.begin(), module.end(), impl_->regex);
}

}  // namespace lathe
