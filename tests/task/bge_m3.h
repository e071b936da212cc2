// A tiny model with bge-m3's files: an encoder, and heads for tokens as torch saves them.
#pragma once

#include <filesystem>

namespace pando::testing {

inline std::filesystem::path bge_m3_data() {
  return std::filesystem::path(PANDO_SOURCE_DIR) / "tests/task/data/bge-m3";
}

// Copies the model to a new folder.
inline void copy_bge_m3(const std::filesystem::path& to) {
  using std::filesystem::copy;
  copy(bge_m3_data().parent_path() / "classifiers/xlm-roberta-pairs", to);
  for (const char* name : {"colbert_linear.pt", "sparse_linear.pt"})
    copy(bge_m3_data() / name, to / name);
}

}  // namespace pando::testing
