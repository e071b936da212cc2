#include "base/option_names.h"

#include <algorithm>
#include <atomic>

namespace pando {
namespace {

std::atomic<OptionStyle> option_style = OptionStyle::kField;

}  // namespace

OptionStyleScope::OptionStyleScope(OptionStyle style) : before_(option_style.exchange(style)) {}
OptionStyleScope::~OptionStyleScope() { option_style = before_; }

std::string shown(OptionName option) {
  std::string name(option.field);
  const OptionStyle style = option_style;
  if (style == OptionStyle::kField) return name;
  std::ranges::replace(name, '_', '-');
  return (style == OptionStyle::kServer ? "the server's --" : "--") + name;
}

}  // namespace pando
