// The cache directory keeps what was measured or fetched once.
#pragma once

#include <filesystem>

#include "cli/environment_path.h"

namespace pando::cli {

// pando/ in XDG_CACHE_HOME, which is to be left out of account where it is relative, or in the
// user's .cache.
inline std::filesystem::path cache_directory() {
  if (const auto cache = environment_path("XDG_CACHE_HOME"); cache.is_absolute())
    return cache / "pando";
  const auto home = environment_path("HOME");
  return (home.empty() ? std::filesystem::temp_directory_path() : home / ".cache") / "pando";
}

}  // namespace pando::cli
