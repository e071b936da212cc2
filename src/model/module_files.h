// Files of the library sentence-transformers beside a model: modules.json and what it names.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "pando/result.h"

namespace pando::model {

// The object in a file; an empty one where there is no such file.
Result<nlohmann::json> read_object_file(const std::filesystem::path& path);

// What is done with a text or with a row of the model.
struct Module {
  std::string kind;              // "Pooling": the last part of its type; empty without a type
  std::string found;             // for messages: "a module of type '...'"
  std::filesystem::path folder;  // with its configuration
};
// In order; none where there is no modules.json.
Result<std::vector<Module>> read_modules(const std::filesystem::path& directory);

// Texts to put before others, of config_sentence_transformers.json.
struct Prompts {
  std::map<std::string, std::string> by_name;  // "query", "document"
  std::string by_default;                      // of `default_prompt_name`; empty without one
};
Result<Prompts> read_prompts(const std::filesystem::path& directory);

}  // namespace pando::model
