// The hub's own tools keep here what they fetched.
#pragma once

#include <filesystem>

#include "cli/environment_path.h"

namespace pando::cli {

// HF_HOME, or huggingface/ in the user's cache; empty where the environment says nothing.
inline std::filesystem::path hub_home() {
  if (const auto home = environment_path("HF_HOME"); !home.empty()) return home;
  if (const auto cache = environment_path("XDG_CACHE_HOME"); !cache.empty())
    return cache / "huggingface";
  const auto home = environment_path("HOME");
  return home.empty() ? home : home / ".cache/huggingface";
}

// HF_HUB_CACHE, or hub/ in hub_home(); empty where the environment says nothing.
inline std::filesystem::path hub_cache() {
  for (const char* variable : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"})
    if (const auto cache = environment_path(variable); !cache.empty()) return cache;
  const auto home = hub_home();
  return home.empty() ? home : home / "hub";
}

}  // namespace pando::cli
