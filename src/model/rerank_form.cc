#include "model/rerank_form.h"

#include <algorithm>

#include "base/errors.h"
#include "base/fields.h"
#include "model/checkpoint.h"
#include "model/config.h"
#include "model/module_files.h"
#include "model/unoffered.h"

namespace pando::model {

Result<RerankForm> read_rerank_form(const ModelPath& path) {
  RerankForm form;
  if (is_gguf(path.path())) return form;
  const Result<std::vector<Module>> modules = read_modules(path);
  if (!modules) return modules.error();
  const auto score = std::ranges::find(*modules, "LogitScore", &Module::kind);
  if (score == modules->end()) return form;
  for (const Module& module : *modules)
    if (module.kind != "LogitScore" && module.kind != "Transformer")
      return in_file(
          (path / "modules.json").string(),
          unsupported("has {}, expected one of type Transformer or LogitScore", module.found));
  const Result<TextSettings> texts = read_text_settings(path);
  if (!texts) return texts.error();
  form.max_tokens = texts->max_tokens;
  form.has_modules = true;
  const ModelPath file = path.at(score->folder) / "config.json";
  const Result<Json> object = read_object_file(file);
  if (!object) return object.error();
  Fields fields(*object, file.string());
  constexpr std::string_view kFields[] = {"true_token_id", "false_token_id", "module_input_name"};
  refuse_unknown(fields, *object, kFields);
  if (fields.string("module_input_name", "causal_logits") != "causal_logits")
    fields.refuse("module_input_name", "\"causal_logits\"", ErrorCode::kUnsupported);
  if (fields.find("false_token_id") == nullptr)
    fields.refuse("false_token_id", "a token: a score of the token for yes alone is not supported",
                  ErrorCode::kUnsupported);
  form.yes = static_cast<Token>(fields.integer("true_token_id", 0, kMaxVocab - 1));
  form.no = static_cast<Token>(fields.integer("false_token_id", 0, kMaxVocab - 1));
  if (!fields.status()) return fields.status().error();
  const Result<Prompts> prompts = read_prompts(path);
  if (!prompts) return prompts.error();
  form.instruction = prompts->by_default;
  return form;
}

}  // namespace pando::model
