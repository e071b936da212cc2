// The fixtures of tests/model/encoders: tiny models whose rows see both ways.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace pando {

inline std::filesystem::path encoder_folder(const std::string& name) {
  return std::filesystem::path(PANDO_SOURCE_DIR) / "tests/model/encoders" / name;
}

inline std::vector<std::string> encoder_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(encoder_folder("")))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace pando
