// Where what was measured or fetched once is kept.
#pragma once

#include <cstdlib>
#include <filesystem>

namespace pando::cli {

// pando/ in XDG_CACHE_HOME, which is to be left out of account where it is relative, or in the
// user's .cache.
inline std::filesystem::path cache_directory() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::filesystem::path(value != nullptr ? value : "");
  };
  if (const auto cache = variable("XDG_CACHE_HOME"); cache.is_absolute()) return cache / "pando";
  const auto home = variable("HOME");
  return (home.empty() ? std::filesystem::temp_directory_path() : home / ".cache") / "pando";
}

}  // namespace pando::cli
