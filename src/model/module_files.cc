#include "model/module_files.h"

#include "base/errors.h"
#include "base/fields.h"
#include "base/json.h"

namespace pando::model {
namespace {

namespace fs = std::filesystem;
using json = Json;

Result<json> read_json_file(const ModelPath& path) {
  const Result<std::string_view> text = path.text();
  if (!text) return text.error();
  Result<json> value = parse_json(*text);
  if (!value) return in_file(path.string(), bad_file("is {}", value.error().message()));
  return value;
}

Result<Module> read_module(const json& object, const fs::path& path) {
  const bool has_type = object.is_object() && object.contains("type") && object["type"].is_string();
  if (!has_type) return Module{"", "the module " + found_text(object), "", {}};
  const std::string type = object["type"].get<std::string>();
  Fields fields(object, path.string());
  const std::string folder = fields.string("path", "");
  if (!fields.status()) return fields.status().error();
  if (fs::path(folder).filename() != folder || folder == "..")
    return in_file(
        path.string(),
        bad_file("'path' is '{}', expected the name of a folder in the same directory", folder));
  const bool is_known = type.starts_with("sentence_transformers.");
  return Module{is_known ? type.substr(type.rfind('.') + 1) : "",
                fmt::format("a module of type '{}'", type), folder, path.parent_path() / folder};
}

}  // namespace

Result<json> read_object_file(const ModelPath& path) {
  Result<json> value = read_json_file(path);
  if (!value && value.error().code == ErrorCode::kNotFound) return json::object();
  if (value && !value->is_object())
    return in_file(path.string(), bad_file("holds {}, expected an object", found_text(*value)));
  return value;
}

Result<std::vector<Module>> read_modules(const ModelPath& directory) {
  const ModelPath path = directory / "modules.json";
  const Result<json> list = read_json_file(path);
  std::vector<Module> modules;
  if (!list && list.error().code == ErrorCode::kNotFound) return modules;
  if (!list) return list.error();
  if (!list->is_array() || list->empty())
    return in_file(path.string(),
                   bad_file("holds {}, expected a list of modules", found_text(*list)));
  for (const json& object : *list) {
    Result<Module> module = read_module(object, path.path());
    if (!module) return module.error();
    modules.push_back(std::move(*module));
  }
  return modules;
}

Result<TextSettings> read_text_settings(const ModelPath& directory) {
  TextSettings settings;
  for (const char* model :
       {"bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet"}) {
    const ModelPath path = directory / fmt::format("sentence_{}_config.json", model);
    Result<json> object = read_object_file(path);
    if (!object) return object.error();
    if (object->empty()) continue;  // as in the library
    settings.source = path.string();
    settings.fields = std::move(*object);
    break;
  }
  Fields fields(settings.fields, settings.source);
  settings.max_tokens = static_cast<int>(fields.integer("max_seq_length", 1, INT32_MAX, 0));
  if (fields.boolean("do_lower_case", false))
    fields.refuse("do_lower_case", "false", ErrorCode::kUnsupported);
  if (!fields.status()) return fields.status().error();
  return settings;
}

Result<Prompts> read_prompts(const ModelPath& directory) {
  const ModelPath path = directory / "config_sentence_transformers.json";
  Result<json> object = read_object_file(path);
  if (!object) return object.error();
  Prompts prompts;
  prompts.source = path.string();
  prompts.fields = std::move(*object);
  Fields fields(prompts.fields, prompts.source);
  const std::string name = fields.string("default_prompt_name", "");
  json texts = json::object();
  fields.object("prompts", texts);
  if (!fields.status()) return fields.status().error();
  for (const auto& [key, text] : texts.items()) {
    if (!text.is_string() && !text.is_null())
      return in_file(prompts.source,
                     bad_file("'prompts.{}' is {}, expected a string", key, found_text(text)));
    prompts.by_name.emplace(key, text.is_null() ? "" : text.get<std::string>());
  }
  if (name.empty()) return prompts;
  if (!prompts.by_name.contains(name))
    return in_file(
        prompts.source,
        bad_file("'default_prompt_name' is '{}', expected the name of a text in 'prompts'", name));
  prompts.by_default = prompts.by_name[name];
  return prompts;
}

}  // namespace pando::model
