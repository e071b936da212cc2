// GGUF models in several files, NAME-00001-of-00003.gguf and so on. The first has the metadata;
// each has its own tensors.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace pando {

struct GgufPart {
  std::string stem;  // of the file's name, before the numbers
  int number;        // from 1
  int count;         // of all parts, at least 1
};

// Part number of a file by its name; nothing if the name has no such numbers.
std::optional<GgufPart> gguf_part(const std::filesystem::path& path);

// The paths of all parts of the model whose part lies at `path`, in order; `path` alone where its
// name has no numbers.
std::vector<std::filesystem::path> gguf_parts(const std::filesystem::path& path);

}  // namespace pando
