#include "model/embedding_form.h"

#include <vector>

#include "base/errors.h"
#include "base/fields.h"
#include "base/gguf.h"
#include "base/json.h"
#include "model/checkpoint.h"
#include "model/module_files.h"

namespace pando::model {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Files of today say pooling_mode; older ones have a flag for each mode.
Status read_pooling(const fs::path& path, EmbeddingForm& form, bool& includes_prompt) {
  const Result<json> object = read_object_file(path);
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

Result<EmbeddingForm> read_directory(const fs::path& directory) {
  const Result<std::vector<Module>> modules = read_modules(directory);
  if (!modules) return modules.error();
  if (modules->empty()) return EmbeddingForm{};
  const std::string path = (directory / "modules.json").string();
  EmbeddingForm form{.normalise = false};
  bool includes_prompt = true;
  for (const Module& module : *modules) {
    if (module.kind == "Normalize") {
      form.normalise = true;
    } else if (module.kind == "Pooling") {
      Status status = read_pooling(module.folder / "config.json", form, includes_prompt);
      if (!status) return status.error();
    } else if (module.kind == "LogitScore") {
      return unsupported(
          "{}: has {}: the model is a reranker, which gives no vectors (hint: pando rerank)", path,
          module.found);
    } else if (module.kind != "Transformer") {
      return unsupported("{}: has {}, expected one of type Transformer, Pooling or Normalize", path,
                         module.found);
    }
  }
  Result<Prompts> prompts = read_prompts(directory);
  if (!prompts) return prompts.error();
  form.prompt = std::move(prompts->by_default);
  if (includes_prompt) form.prompts = std::move(prompts->by_name);  // else it would be in the mean
  if (!form.prompt.empty() && !includes_prompt)
    return unsupported(
        "{}: 'include_prompt' of its pooling is false, expected true, because a prompt is named",
        path);
  const fs::path texts = directory / "sentence_bert_config.json";
  const Result<json> text_object = read_object_file(texts);
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
      constexpr int64_t kRank = 4;
      Error error = gguf->wrong(
          key, type->value_or(0) == kRank
                   ? "0 (none), 1 (mean) or 3 (last); 4 is a reranker, which gives no vectors "
                     "(hint: pando rerank)"
                   : "0 (none), 1 (mean) or 3 (last)");
      error.code = ErrorCode::kUnsupported;
      return error;
    }
  }
}

}  // namespace

Result<EmbeddingForm> read_embedding_form(const fs::path& path) {
  return is_gguf(path) ? read_gguf(path) : read_directory(path);
}

}  // namespace pando::model
