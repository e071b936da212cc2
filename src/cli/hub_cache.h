// Where the hub's own tools keep what they fetched.
#pragma once

#include <filesystem>

#include "cli/environment_path.h"

namespace pando::cli {

// HF_HUB_CACHE, or hub/ in HF_HOME, or in huggingface/ of the user's cache; empty where the
// environment says nothing.
inline std::filesystem::path hub_cache() {
  if (const auto cache = environment_path("HF_HUB_CACHE"); !cache.empty()) return cache;
  if (const auto home = environment_path("HF_HOME"); !home.empty()) return home / "hub";
  if (const auto cache = environment_path("XDG_CACHE_HOME"); !cache.empty())
    return cache / "huggingface/hub";
  const auto home = environment_path("HOME");
  return home.empty() ? home : home / ".cache/huggingface/hub";
}

}  // namespace pando::cli
