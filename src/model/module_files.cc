#include "model/module_files.h"

#include "base/errors.h"
#include "base/fields.h"
#include "base/json.h"
#include "base/mapped_file.h"

namespace pando::model {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

Result<json> read_json_file(const fs::path& path) {
  const Result<MappedFile> file = MappedFile::open(path);
  if (!file) return file.error();
  Result<json> value = parse_json({reinterpret_cast<const char*>(file->data()), file->size()});
  if (!value) return bad_file("{}: is {}", path.string(), value.error().message);
  return value;
}

Result<Module> read_module(const json& object, const fs::path& path) {
  const bool has_type = object.is_object() && object.contains("type") && object["type"].is_string();
  if (!has_type) return Module{"", "the module " + found_text(object), {}};
  const std::string type = object["type"].get<std::string>();
  Fields fields(object, path.string());
  const std::string folder = fields.string("path", "");
  if (!fields.status()) return fields.status().error();
  if (fs::path(folder).filename() != folder || folder == "..")
    return bad_file("{}: 'path' is '{}', expected the name of a folder in the same directory",
                    path.string(), folder);
  return Module{type.substr(type.rfind('.') + 1), fmt::format("a module of type '{}'", type),
                path.parent_path() / folder};
}

}  // namespace

Result<json> read_object_file(const fs::path& path) {
  Result<json> value = read_json_file(path);
  if (!value && value.error().code == ErrorCode::kNotFound) return json::object();
  if (value && !value->is_object())
    return bad_file("{}: holds {}, expected an object", path.string(), found_text(*value));
  return value;
}

Result<std::vector<Module>> read_modules(const fs::path& directory) {
  const fs::path path = directory / "modules.json";
  const Result<json> list = read_json_file(path);
  std::vector<Module> modules;
  if (!list && list.error().code == ErrorCode::kNotFound) return modules;
  if (!list) return list.error();
  for (const json& object : list->is_array() ? *list : json::array({*list})) {
    Result<Module> module = read_module(object, path);
    if (!module) return module.error();
    modules.push_back(std::move(*module));
  }
  return modules;
}

Result<Prompts> read_prompts(const fs::path& directory) {
  const fs::path path = directory / "config_sentence_transformers.json";
  const Result<json> object = read_object_file(path);
  if (!object) return object.error();
  Fields fields(*object, path.string());
  Prompts prompts;
  const std::string name = fields.string("default_prompt_name", "");
  const json* texts = fields.find("prompts");
  if (texts != nullptr && texts->is_object())
    for (const auto& [key, text] : texts->items())
      if (text.is_string()) prompts.by_name.emplace(key, text.get<std::string>());
  if (!fields.status()) return fields.status().error();
  if (name.empty()) return prompts;
  if (!prompts.by_name.contains(name))
    return bad_file("{}: 'default_prompt_name' is '{}', expected the name of a text in 'prompts'",
                    path.string(), name);
  prompts.by_default = prompts.by_name[name];
  return prompts;
}

}  // namespace pando::model
