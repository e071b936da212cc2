// Files of sentence-transformers beside a model: modules.json and the files it names.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/model_path.h"
#include "pando/values/result.h"

namespace pando::model {

// The object in a file; an empty one where there is no such file.
Result<Json> read_object_file(const ModelPath& path);

// One step of the pipeline on a text or on a row of the model.
struct Module {
  std::string kind;   // last part of its type, such as "Pooling"; empty if it is not the library's
  std::string found;  // for messages: "a module of type '...'"
  std::string path;   // its folder in the model's directory; empty: that directory
  std::filesystem::path folder;  // with its configuration
};
// In order; none if there is no modules.json.
Result<std::vector<Module>> read_modules(const ModelPath& directory);

// Settings of tokenisation, from sentence_bert_config.json or an older name of this file.
struct TextSettings {
  int max_tokens = 0;  // longer texts are cut; 0: not given
  std::string source;  // the file
  Json fields = Json::object();
};
// kUnsupported for do_lower_case.
Result<TextSettings> read_text_settings(const ModelPath& directory);

// Contents of config_sentence_transformers.json.
struct Prompts {
  std::map<std::string, std::string> by_name;  // prompts by name, such as "query" or "document"
  std::string by_default;                      // of `default_prompt_name`; empty without one
  std::string source;                          // the file
  Json fields = Json::object();
};
Result<Prompts> read_prompts(const ModelPath& directory);

}  // namespace pando::model
