#include "model/embedding_form.h"

#include <algorithm>
#include <tuple>
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

// Names of poolings, in the order in which their vectors are joined, with the field of each.
struct NamedPooling {
  std::string_view name;
  std::string_view flag;
  Pooling pooling;
};
constexpr NamedPooling kPoolings[] = {
    {"cls", "pooling_mode_cls_token", Pooling::kFirst},
    {"max", "pooling_mode_max_tokens", Pooling::kMax},
    {"mean", "pooling_mode_mean_tokens", Pooling::kMean},
    {"mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens", Pooling::kMeanSqrtLen},
    {"weightedmean", "pooling_mode_weightedmean_tokens", Pooling::kWeightedMean},
    {"lasttoken", "pooling_mode_lasttoken", Pooling::kLast}};
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
// The fields before the last two do not change a vector.
constexpr std::string_view kTextFields[] = {
    "max_seq_length",     "do_lower_case", "transformer_task", "modality_config",
    "module_output_name", "unpad_inputs",  "model_args",       "model_kwargs"};
constexpr std::string_view kModelArguments[] = {"torch_dtype", "dtype", "attn_implementation",
                                                "device_map", "trust_remote_code"};

Pooling pooling_named(Fields& fields, const json& mode) {
  std::vector<std::string_view> names;
  for (const NamedPooling& known : kPoolings) {
    if (mode == known.name) return known.pooling;
    names.push_back(known.name);
  }
  fields.fail("pooling_mode", mode, one_of_these(names));
  return Pooling::kNone;
}

// All poolings that a file asks for. Either the field pooling_mode has a name or a list, or there
// is a flag for each. The library ignores flags beside pooling_mode.
std::vector<Pooling> read_poolings(Fields& fields) {
  std::vector<Pooling> poolings;
  const json* named = fields.find("pooling_mode");
  if (named != nullptr) {
    for (const json& mode : named->is_array() ? *named : json::array({*named}))
      poolings.push_back(pooling_named(fields, mode));
  } else {
    for (const NamedPooling& known : kPoolings)
      if (fields.boolean(known.flag, false)) poolings.push_back(known.pooling);
    if (poolings.empty()) poolings = {Pooling::kMean};  // the library's default
  }
  if (poolings.empty()) fields.refuse("pooling_mode", "a name, or a list of names");
  return poolings;
}

Status read_pooling(const ModelPath& path, EmbeddingForm& form) {
  if (!is_there(path.path())) return why_not_found(path.path());
  const Result<json> object = read_object_file(path);
  if (!object) return object.error();
  Fields fields(*object, path.string());
  refuse_unknown(fields, *object, kPoolingFields);
  const std::vector<Pooling> poolings = read_poolings(fields);
  for (const char* name : {"word_embedding_dimension", "embedding_dimension"})
    form.dimension = static_cast<int>(fields.integer(name, 1, INT32_MAX, form.dimension));
  form.include_prompt = fields.boolean("include_prompt", true);
  if (!fields.status()) return fields.status();
  form.pooling = poolings.size() == 1 ? poolings[0] : Pooling::kRows;
  if (poolings.size() > 1) form.joined = poolings;
  return {};
}

// Modules behind the pooling, from modules[2] on. A Normalize at the end becomes `normalise`.
Status read_steps(const std::vector<Module>& modules, const ModelPath& directory,
                  EmbeddingForm& form) {
  const std::string path = (directory / "modules.json").string();
  VectorSteps steps;
  const auto n_pooled = static_cast<int>(std::max<size_t>(form.joined.size(), 1));
  int n = form.dimension * n_pooled;  // 0: not known
  for (size_t i = 2; i < modules.size(); ++i) {
    const Module& module = modules[i];
    if (module.kind == "Dropout") continue;  // in training alone
    if (module.kind != "Dense" && module.kind != "LayerNorm" && module.kind != "Normalize")
      return in_file(path, unsupported("has {} in place {}, expected one of type Dense, LayerNorm "
                                       "or Normalize",
                                       module.found, i + 1));
    Result<VectorStep> step = read_vector_module(module.kind, directory.at(module.folder), n);
    if (!step) return step.error();
    if (step->n_out > 0) n = step->n_out;
    steps.list.push_back(std::move(*step));
  }
  form.normalise = !steps.list.empty() && steps.list.back().kind == VectorStep::Kind::kNormalise;
  if (form.normalise) steps.list.pop_back();
  if (!steps.list.empty()) form.steps = std::make_shared<const VectorSteps>(std::move(steps));
  return {};
}

Status read_all_modules(const std::vector<Module>& modules, const ModelPath& directory,
                        EmbeddingForm& form) {
  const std::string path = (directory / "modules.json").string();
  constexpr std::string_view kKinds[] = {"Transformer", "Pooling"};
  for (size_t i = 0; i < 2; ++i) {
    if (i >= modules.size())
      return in_file(path, unsupported("has no module of type {} behind the first", kKinds[i]));
    const Module& module = modules[i];
    if (module.kind != kKinds[i])
      return in_file(path, unsupported("has {} in place {}, expected one of type {}", module.found,
                                       i + 1, kKinds[i]));
    if (i == 0 && !module.path.empty())
      return in_file(path,
                     unsupported("'path' of {} is '{}', expected an empty one: the same directory",
                                 module.found, module.path));
  }
  const Status status = read_pooling(directory.at(modules[1].folder / "config.json"), form);
  return status ? read_steps(modules, directory, form) : status;
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

Status read_vector_settings(const Prompts& prompts, EmbeddingForm& form) {
  Fields fields(prompts.fields, prompts.source);
  if (fields.string("model_type", "SentenceTransformer") != "SentenceTransformer")
    fields.refuse("model_type", "\"SentenceTransformer\"", ErrorCode::kUnsupported);
  form.kept_dimensions = static_cast<int>(fields.integer("truncate_dim", 1, INT32_MAX, 0));
  return fields.status();
}

// The heads of bge-m3 for tokens.
Status read_token_steps(const ModelPath& directory, EmbeddingForm& form) {
  const std::tuple<const char*, VectorActivation, std::shared_ptr<const VectorSteps>*> heads[] = {
      {"colbert_linear.pt", VectorActivation::kIdentity, &form.token_steps},
      {"sparse_linear.pt", VectorActivation::kRelu, &form.weight_steps}};
  for (const auto& [name, activation, steps] : heads) {
    const ModelPath path = directory / name;
    if (!is_there(path.path())) continue;
    Result<VectorStep> step = read_torch_dense(path, activation);
    if (!step) return step.error();
    VectorSteps read;
    read.list.push_back(std::move(*step));
    *steps = std::make_shared<const VectorSteps>(std::move(read));
  }
  return {};
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
  for (const Status& status :
       {read_vector_settings(*prompts, form), check_text_settings(*settings)})
    if (!status) return status.error();
  if (Status status = read_token_steps(directory, form); !status) return status.error();
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
    case 2:
      return EmbeddingForm{.pooling = Pooling::kFirst};
    case 3:
      return EmbeddingForm{.pooling = Pooling::kLast};
    default: {
      Error error = gguf.wrong(key, "0 (none), 1 (mean), 2 (cls) or 3 (last)");
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
