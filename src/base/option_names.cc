#include "base/option_names.h"

#include <algorithm>
#include <atomic>

namespace pando {
namespace {

// Scopes that live, by style.
std::atomic<int> n_scopes[3] = {};

std::atomic<int>& scopes_of(OptionStyle style) { return n_scopes[static_cast<int>(style)]; }

}  // namespace

OptionStyleScope::OptionStyleScope(OptionStyle style) : style_(style) { ++scopes_of(style_); }
OptionStyleScope::~OptionStyleScope() { --scopes_of(style_); }

std::string shown(OptionName option) {
  std::string name(option.field);
  const bool of_server = scopes_of(OptionStyle::kServer) > 0;
  if (!of_server && scopes_of(OptionStyle::kCommandLine) == 0) return name;
  std::ranges::replace(name, '_', '-');
  return (of_server ? "the server's --" : "--") + name;
}

}  // namespace pando
