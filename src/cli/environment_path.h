// Paths that the environment names.
#pragma once

#include <cstdlib>
#include <filesystem>

namespace pando::cli {

// Empty where the variable is not set.
inline std::filesystem::path environment_path(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr ? value : "";
}

}  // namespace pando::cli
