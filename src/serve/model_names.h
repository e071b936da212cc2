// Names under which a model is served.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

namespace pando::serve {

// Ollama's clients put this tag behind a name that has none.
inline constexpr std::string_view kLatestTag = ":latest";

inline std::string_view without_latest(std::string_view name) {
  if (name.ends_with(kLatestTag)) name.remove_suffix(kLatestTag.size());
  return name;
}

// True if one of the names is the asked one. "NAME:latest" and "NAME" are the same name.
inline bool has_name(std::span<const std::string> names, std::string_view asked) {
  return std::ranges::any_of(names, [name = without_latest(asked)](const std::string& known) {
    return without_latest(known) == name;
  });
}

}  // namespace pando::serve
