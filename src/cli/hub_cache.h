// Where the hub's own tools keep what they fetched.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace pando::cli {

// HF_HUB_CACHE, or hub/ in HF_HOME, or in huggingface/ of the user's cache; empty where the
// environment says nothing.
inline std::filesystem::path hub_cache() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::filesystem::path(value != nullptr ? value : "");
  };
  if (const auto cache = variable("HF_HUB_CACHE"); !cache.empty()) return cache;
  if (const auto home = variable("HF_HOME"); !home.empty()) return home / "hub";
  if (const auto cache = variable("XDG_CACHE_HOME"); !cache.empty())
    return cache / "huggingface/hub";
  const auto home = variable("HOME");
  return home.empty() ? home : home / ".cache/huggingface/hub";
}

}  // namespace pando::cli
