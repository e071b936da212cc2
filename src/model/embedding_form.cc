#include "model/embedding_form.h"

#include <algorithm>
#include <vector>

#include "base/errors.h"
#include "base/fields.h"
#include "base/gguf.h"
#include "base/is_there.h"
#include "base/json.h"
#include "model/checkpoint.h"
#include "model/module_files.h"
#include "model/unoffered.h"

namespace pando::model {
namespace {

using json = Json;

constexpr std::string_view kFlag = "pooling_mode_";
constexpr std::string_view kPoolingFields[] = {"embedding_dimension",
                                               "word_embedding_dimension",
                                               "pooling_mode",
                                               "include_prompt",
                                               "pooling_mode_cls_token",
                                               "pooling_mode_max_tokens",
                                               "pooling_mode_mean_tokens",
                                               "pooling_mode_mean_sqrt_len_tokens",
                                               "pooling_mode_lasttoken",
                                               "pooling_mode_weightedmean_tokens"};
constexpr std::string_view kNormalizeFields[] = {"module_input_name", "module_output_name"};
// The fields before the last two do not change a vector.
constexpr std::string_view kTextFields[] = {
    "max_seq_length",     "do_lower_case", "transformer_task", "modality_config",
    "module_output_name", "unpad_inputs",  "model_args",       "model_kwargs"};
constexpr std::string_view kModelArguments[] = {"torch_dtype", "dtype", "attn_implementation",
                                                "device_map", "trust_remote_code"};

// The names of all modes that a file asks for. Either the field pooling_mode has a name or a list,
// or there is a flag for each mode. The library ignores flags beside pooling_mode.
std::string pooling_modes(Fields& fields, const json& object) {
  std::vector<std::string> modes;
  const json* named = fields.find("pooling_mode");
  bool has_flags = false;
  if (named != nullptr) {
    for (const json& mode : named->is_array() ? *named : json::array({*named}))
      if (mode.is_string())
        modes.push_back(mode.get<std::string>());
      else
        fields.refuse("pooling_mode", "a name, or a list of names");
  } else {
    for (const auto& [name, value] : object.items()) {
      if (!name.starts_with(kFlag)) continue;
      has_flags = true;
      if (fields.boolean(name, false)) modes.push_back(name.substr(kFlag.size()));
    }
  }
  if (named == nullptr && !has_flags) return "mean";  // the library's default
  return fmt::format("{}", fmt::join(modes, "+"));
}

Status read_pooling(const ModelPath& path, EmbeddingForm& form) {
  if (!is_there(path.path())) return why_not_found(path.path());
  const Result<json> object = read_object_file(path);
  if (!object) return object.error();
  Fields fields(*object, path.string());
  refuse_unknown(fields, *object, kPoolingFields);
  const std::string modes = pooling_modes(fields, *object);
  for (const char* name : {"word_embedding_dimension", "embedding_dimension"})
    form.dimension = static_cast<int>(fields.integer(name, 1, INT32_MAX, form.dimension));
  form.include_prompt = fields.boolean("include_prompt", true);
  if (!fields.status()) return fields.status();
  if (modes == "mean" || modes == "mean_tokens")
    form.pooling = Pooling::kMean;
  else if (modes == "lasttoken")
    form.pooling = Pooling::kLast;
  else
    return in_file(
        path.string(),
        unsupported("the pooling is '{}', expected 'mean_tokens' or 'lasttoken'", modes));
  return {};
}

// Allows only the scaling of the vector. Files may name other values to scale.
Status check_normalize(const ModelPath& path) {
  const Result<json> object = read_object_file(path);
  if (!object) return object.error();
  Fields fields(*object, path.string());
  refuse_unknown(fields, *object, kNormalizeFields);
  for (const std::string_view name : kNormalizeFields)
    if (fields.string(name, "sentence_embedding") != "sentence_embedding")
      fields.refuse(name, "\"sentence_embedding\"", ErrorCode::kUnsupported);
  return fields.status();
}

Status read_all_modules(const std::vector<Module>& modules, const ModelPath& directory,
                        EmbeddingForm& form) {
  const std::string path = (directory / "modules.json").string();
  constexpr std::string_view kKinds[] = {"Transformer", "Pooling", "Normalize"};
  for (size_t i = 0; i < std::max<size_t>(modules.size(), 2); ++i) {
    const std::string_view expected = kKinds[std::min<size_t>(i, 2)];
    if (i == modules.size())
      return in_file(path, unsupported("has no module of type {} behind the first", expected));
    const Module& module = modules[i];
    if (module.kind != expected)
      return in_file(path, unsupported("has {} in place {}, expected one of type {}", module.found,
                                       i + 1, expected));
    if (i == 0 && !module.path.empty())
      return in_file(path,
                     unsupported("'path' of {} is '{}', expected an empty one: the same directory",
                                 module.found, module.path));
    Status status;
    const ModelPath config = directory.at(module.folder / "config.json");
    if (i == 1) status = read_pooling(config, form);
    if (i > 1) status = check_normalize(config);
    if (!status) return status;
  }
  form.normalise = modules.size() > 2;
  return {};
}

// Refuses settings that would change the tokens or rows of a text.
Status check_text_settings(const TextSettings& settings) {
  const json& object = settings.fields;
  Fields fields(object, settings.source);
  refuse_unknown(fields, object, kTextFields);
  for (const char* name : {"model_args", "model_kwargs"}) {
    const json* arguments = fields.find(name);
    if (arguments == nullptr) continue;
    Fields own(*arguments, fmt::format("{}: {}", settings.source, name));
    if (arguments->is_object())
      refuse_unknown(own, *arguments, kModelArguments);
    else
      fields.refuse(name, "an object");
    fields.fail(own.status());
  }
  for (const auto& [name, expected] : {std::pair{"transformer_task", "feature-extraction"},
                                       {"module_output_name", "token_embeddings"}})
    if (fields.string(name, expected) != expected)
      fields.refuse(name, fmt::format("\"{}\"", expected), ErrorCode::kUnsupported);
  const json text = {{"method", "forward"}, {"method_output_name", "last_hidden_state"}};
  const json* modalities = fields.find("modality_config");
  if (modalities != nullptr && (!modalities->is_object() || modalities->contains("message") ||
                                sorted_json(modalities->value("text", json())) != text))
    fields.refuse("modality_config", fmt::format("{{\"text\": {}}}", text.dump()),
                  ErrorCode::kUnsupported);
  return fields.status();
}

Status check_vector_settings(const Prompts& prompts) {
  Fields fields(prompts.fields, prompts.source);
  if (fields.string("model_type", "SentenceTransformer") != "SentenceTransformer")
    fields.refuse("model_type", "\"SentenceTransformer\"", ErrorCode::kUnsupported);
  if (fields.has("truncate_dim")) fields.refuse("truncate_dim", "null", ErrorCode::kUnsupported);
  return fields.status();
}

Result<EmbeddingForm> read_directory(const ModelPath& directory) {
  EmbeddingForm form;
  const Result<std::vector<Module>> modules = read_modules(directory);
  if (!modules) return modules.error();
  form.has_modules = !modules->empty();
  if (form.has_modules)
    if (Status status = read_all_modules(*modules, directory, form); !status) return status.error();
  Result<Prompts> prompts = read_prompts(directory);
  if (!prompts) return prompts.error();
  const Result<TextSettings> settings = read_text_settings(directory);
  if (!settings) return settings.error();
  for (const Status& status : {check_vector_settings(*prompts), check_text_settings(*settings)})
    if (!status) return status.error();
  form.prompt = std::move(prompts->by_default);
  form.prompts = std::move(prompts->by_name);
  form.max_tokens = settings->max_tokens;
  return form;
}

Result<EmbeddingForm> read_gguf(const GgufFile& gguf) {
  const auto architecture = gguf.string("general.architecture");
  if (!architecture) return architecture.error();
  const std::string key = fmt::format("{}.pooling_type", architecture->value_or(""));
  const auto type = gguf.integer(key);
  if (!type) return type.error();
  switch (type->value_or(0)) {
    case 0:
      return EmbeddingForm{};
    case 1:
      return EmbeddingForm{.pooling = Pooling::kMean};
    case 3:
      return EmbeddingForm{.pooling = Pooling::kLast};
    default: {
      Error error = gguf.wrong(key, "0 (none), 1 (mean) or 3 (last)");
      error.code = ErrorCode::kUnsupported;
      return error;
    }
  }
}

}  // namespace

Result<EmbeddingForm> read_embedding_form(const ModelPath& path) {
  if (!is_gguf(path.path())) return read_directory(path);
  const auto gguf = path.gguf();
  return gguf ? read_gguf(**gguf) : gguf.error();
}

}  // namespace pando::model
