#include "model/embedding_form.h"

#include <vector>

#include "base/errors.h"
#include "base/fields.h"
#include "base/gguf.h"
#include "base/json.h"
#include "base/mapped_file.h"
#include "model/checkpoint.h"

namespace pando::model {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

Result<json> read_file(const fs::path& path) {
  const Result<MappedFile> file = MappedFile::open(path);
  if (!file) return file.error();
  Result<json> value = parse_json({reinterpret_cast<const char*>(file->data()), file->size()});
  if (!value) return bad_file("{}: is {}", path.string(), value.error().message);
  return value;
}

// An object; an empty one where there is no such file.
Result<json> read_object(const fs::path& path) {
  Result<json> value = read_file(path);
  if (!value && value.error().code == ErrorCode::kNotFound) return json::object();
  if (value && !value->is_object())
    return bad_file("{}: holds {}, expected an object", path.string(), found_text(*value));
  return value;
}

// Files of today say pooling_mode; older ones have a flag for each mode.
Status read_pooling(const fs::path& path, EmbeddingForm& form, bool& includes_prompt) {
  const Result<json> object = read_object(path);
  if (!object) return object.error();
  Fields fields(*object, path.string());
  constexpr std::string_view kFlag = "pooling_mode_";
  std::vector<std::string> modes;
  if (const json* mode = fields.find("pooling_mode"); mode != nullptr && mode->is_string())
    modes.push_back(mode->get<std::string>());
  for (const auto& [name, value] : object->items())
    if (name.starts_with(kFlag) && value == true) modes.push_back(name.substr(kFlag.size()));
  const std::string mode = modes.size() == 1 ? modes[0] : fmt::format("{}", fmt::join(modes, "+"));
  if (mode == "mean" || mode == "mean_tokens")
    form.pooling = Pooling::kMean;
  else if (mode == "lasttoken")
    form.pooling = Pooling::kLast;
  else
    return unsupported("{}: the pooling is '{}', expected 'mean_tokens' or 'lasttoken'",
                       path.string(), mode);
  includes_prompt = fields.boolean("include_prompt", true);
  return fields.status();
}

// Prompts by name, and that which is put before a text where none is named.
Status read_prompts(const fs::path& path, EmbeddingForm& form) {
  const Result<json> object = read_object(path);
  if (!object) return object.error();
  Fields fields(*object, path.string());
  const std::string name = fields.string("default_prompt_name", "");
  const json* prompts = fields.find("prompts");
  if (prompts != nullptr && prompts->is_object())
    for (const auto& [key, text] : prompts->items())
      if (text.is_string()) form.prompts.emplace(key, text.get<std::string>());
  if (Status status = fields.status(); !status) return status;
  if (name.empty()) return {};
  if (!form.prompts.contains(name))
    return bad_file("{}: 'default_prompt_name' is '{}', expected the name of a text in 'prompts'",
                    path.string(), name);
  form.prompt = form.prompts[name];
  return {};
}

Result<EmbeddingForm> read_modules(const fs::path& directory) {
  const fs::path path = directory / "modules.json";
  const Result<json> modules = read_file(path);
  if (!modules) {
    if (modules.error().code == ErrorCode::kNotFound) return EmbeddingForm{};
    return modules.error();
  }
  EmbeddingForm form{.normalise = false};
  bool includes_prompt = true;
  for (const json& module : modules->is_array() ? *modules : json::array({*modules})) {
    const bool named = module.is_object() && module.contains("type") && module["type"].is_string();
    const std::string type = named ? module["type"].get<std::string>() : "";
    const std::string kind = type.substr(type.rfind('.') + 1);
    if (kind == "Normalize") {
      form.normalise = true;
    } else if (kind == "Pooling") {
      Fields of_module(module, path.string());
      const std::string folder = of_module.string("path", "");
      if (Status status = of_module.status(); !status) return status.error();
      if (fs::path(folder).filename() != folder || folder == "..")
        return bad_file("{}: 'path' is '{}', expected the name of a folder in the same directory",
                        path.string(), folder);
      Status status = read_pooling(directory / folder / "config.json", form, includes_prompt);
      if (!status) return status.error();
    } else if (kind != "Transformer") {
      return unsupported(
          "{}: has {}, expected one of type Transformer, Pooling or Normalize", path.string(),
          named ? "a module of type '" + type + "'" : "the module " + found_text(module));
    }
  }
  const fs::path prompts = directory / "config_sentence_transformers.json";
  if (Status status = read_prompts(prompts, form); !status) return status.error();
  if (!includes_prompt) form.prompts.clear();  // a prompt would be in the mean
  if (!form.prompt.empty() && !includes_prompt)
    return unsupported("{}: 'include_prompt' of its pooling is false, expected true",
                       path.string());
  const fs::path texts = directory / "sentence_bert_config.json";
  const Result<json> text_object = read_object(texts);
  if (!text_object) return text_object.error();
  Fields text_fields(*text_object, texts.string());
  if (text_fields.boolean("do_lower_case", false))
    text_fields.refuse("do_lower_case", "false", ErrorCode::kUnsupported);
  if (Status status = text_fields.status(); !status) return status.error();
  return form;
}

Result<EmbeddingForm> read_gguf(const fs::path& path) {
  const Result<GgufFile> gguf = GgufFile::open(path);
  if (!gguf) return gguf.error();
  const auto architecture = gguf->string("general.architecture");
  if (!architecture) return architecture.error();
  const std::string key = fmt::format("{}.pooling_type", architecture->value_or(""));
  const auto type = gguf->integer(key);
  if (!type) return type.error();
  switch (type->value_or(0)) {
    case 0:
      return EmbeddingForm{};
    case 1:
      return EmbeddingForm{.pooling = Pooling::kMean};
    case 3:
      return EmbeddingForm{.pooling = Pooling::kLast};
    default: {
      Error error = gguf->wrong(key, "0 (none), 1 (mean) or 3 (last)");
      error.code = ErrorCode::kUnsupported;
      return error;
    }
  }
}

}  // namespace

Result<EmbeddingForm> read_embedding_form(const fs::path& path) {
  return is_gguf(path) ? read_gguf(path) : read_modules(path);
}

}  // namespace pando::model
