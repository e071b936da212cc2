#include "model/gguf_config.h"

#include <algorithm>

#include "base/errors.h"
#include "model/family.h"
#include "model/gguf_translator.h"

namespace pando::model {
namespace {

// Files that are no whole model: adapters, projectors of images, matrices of importance.
Status refuse_other_files(const GgufFile& gguf) {
  constexpr const char* kKey = "general.type";
  const auto type = gguf.string(kKey);
  if (!type) return type.error();
  if (type->value_or("model") == "model") return {};
  Error error = gguf.wrong(
      kKey,
      "'model' (a complete model; adapters, projectors and importance matrices are not supported)");
  error.code = ErrorCode::kUnsupported;
  return error;
}

}  // namespace

Result<ModelConfig> read_gguf_config(const GgufFile& gguf) {
  if (Status status = refuse_other_files(gguf); !status) return status.error();
  constexpr const char* kKey = "general.architecture";
  const auto name = gguf.string(kKey);
  if (!name) return name.error();
  std::vector<std::string_view> known;
  for (const Family* family : families()) {
    if (family->gguf_architecture == nullptr) continue;
    if (*name == gguf_architecture_of(gguf, *family) &&
        (family->owns == nullptr || family->owns(gguf))) {
      GgufTranslator translator(gguf, *family);
      family->translate(translator);
      if (const Status& status = translator.fields().status(); !status) return status.error();
      Result<ModelConfig> config = ModelConfig::from_json(
          translator.config(), gguf.file().path().string(), {.is_gguf = true});
      if (!config) return translator.fields().in_file_names(std::move(config).error());
      return config;
    }
    for (const char* one : {family->gguf_architecture, family->other_gguf_architecture})
      if (one != nullptr && std::ranges::find(known, one) == known.end()) known.push_back(one);
  }
  Error error = gguf.wrong(kKey, one_of_these(known));
  if (name->has_value()) error.code = ErrorCode::kUnsupported;
  return error;
}

}  // namespace pando::model
