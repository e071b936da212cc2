#include "model/classifier_head.h"

#include <algorithm>
#include <charconv>

#include "base/errors.h"
#include "base/fields.h"
#include "model/gguf_translator.h"
#include "model/module_files.h"

namespace pando::model {
namespace {

constexpr std::string_view kOfTexts = "ForSequenceClassification",
                           kOfTokens = "ForTokenClassification";

// The layers of a head; the last one gives the logits.
struct HeadForm {
  std::string_view stem;                                  // of its class
  const char* dense = "";                                 // before the last one; empty: none
  VectorActivation activation = VectorActivation::kTanh;  // behind it
  const char* norm = "";                                  // behind the activation; empty: none
  const char* last = "score";
  Pooling pooling = Pooling::kFirst;
};
constexpr HeadForm kTextHeads[] = {
    {.stem = "Bert", .dense = "pooler.dense", .last = "classifier"},
    {.stem = "Roberta", .dense = "classifier.dense", .last = "classifier.out_proj"},
    {.stem = "XLMRoberta", .dense = "classifier.dense", .last = "classifier.out_proj"},
    {.stem = "DistilBert",
     .dense = "pre_classifier",
     .activation = VectorActivation::kRelu,
     .last = "classifier"},
    {.stem = "ModernBert",
     .dense = "head.dense",
     .activation = VectorActivation::kGelu,
     .norm = "head.norm",
     .last = "classifier"}};
constexpr HeadForm kTokenHeads[] = {{.stem = "Bert", .last = "classifier"},
                                    {.stem = "Roberta", .last = "classifier"},
                                    {.stem = "XLMRoberta", .last = "classifier"},
                                    {.stem = "DistilBert", .last = "classifier"},
                                    {.stem = "ModernBert",
                                     .dense = "head.dense",
                                     .activation = VectorActivation::kGelu,
                                     .norm = "head.norm",
                                     .last = "classifier"}};
constexpr HeadForm kGgufHead = {
    .stem = "", .dense = "cls", .norm = "cls.norm", .last = "cls.output"};
constexpr HeadForm kOtherHead = {.stem = "", .pooling = Pooling::kLast};

HeadForm form_of(std::span<const HeadForm> forms, std::string_view stem) {
  const auto found = std::ranges::find(forms, stem, &HeadForm::stem);
  return found == forms.end() ? kOtherHead : *found;
}

// Labels by index, from id2label; LABEL_0 and so on without it.
std::vector<std::string> read_labels(Fields& fields) {
  const auto n_stated = static_cast<size_t>(fields.integer("num_labels", 1, 1 << 20, 2));
  Json names = Json::object();
  fields.object("id2label", names);
  const size_t n = names.empty() ? n_stated : names.size();
  std::vector<std::string> labels;
  for (size_t i = 0; i < n; ++i) {
    const std::string key = std::to_string(i);
    if (names.contains(key) && names[key].is_string())
      labels.push_back(names[key].get<std::string>());
    else if (names.empty())
      labels.push_back("LABEL_" + key);
    else
      fields.refuse("id2label", fmt::format("a text for each of 0 to {}", n - 1));
  }
  return labels;
}

LabelScale scale_of(std::string_view problem, size_t n_labels) {
  if (problem == "regression") return LabelScale::kNone;
  const bool apart = problem == "multi_label_classification" || n_labels == 1;
  return apart ? LabelScale::kSigmoid : LabelScale::kSoftmax;
}

// The function that sentence-transformers puts behind a reranker, if the file names one.
LabelScale read_pair_scale(Fields& fields, size_t n_labels) {
  Json own = Json::object();
  fields.object("sentence_transformers", own);
  Fields of_library(own, fields.source());
  const std::string older = fields.string("sbert_ce_default_activation_function", "");
  const std::string name = of_library.string("activation_fn", older);
  if (name.empty()) return n_labels == 1 ? LabelScale::kSigmoid : LabelScale::kNone;
  if (name.ends_with(".Identity")) return LabelScale::kNone;
  if (name.ends_with(".Sigmoid")) return LabelScale::kSigmoid;
  if (name.ends_with(".Softmax")) return LabelScale::kSoftmax;
  fields.refuse(of_library.has("activation_fn") ? "sentence_transformers"
                                                : "sbert_ce_default_activation_function",
                "Identity, Sigmoid or Softmax", ErrorCode::kUnsupported);
  return LabelScale::kNone;
}

// Reads a head's layers from a checkpoint.
class HeadReader {
 public:
  explicit HeadReader(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {}

  Status add_dense(const std::string& name, int n_in, int n_out, VectorActivation activation,
                   ClassifierHead& head) const {
    const auto [weight, bias] = names_of(name);
    return add(read_dense(checkpoint_, {weight, bias}, n_in, n_out, activation), {weight, bias},
               head);
  }

  Status add_norm(const std::string& name, int n, float epsilon, ClassifierHead& head) const {
    const auto [weight, bias] = names_of(name);
    return add(read_layer_norm(checkpoint_, {weight, bias}, n, epsilon), {weight, bias}, head);
  }

  bool has(const char* name) const {
    return *name != '\0' && checkpoint_.contains(tensor_name(std::string(name) + ".weight"));
  }

 private:
  // The names of a layer's weight and bias; the latter is empty if there is none.
  std::pair<std::string, std::string> names_of(const std::string& layer) const {
    std::string bias = tensor_name(layer + ".bias");
    if (!checkpoint_.contains(bias)) bias.clear();
    return {tensor_name(layer + ".weight"), std::move(bias)};
  }

  static Status add(Result<VectorStep> step, const StepTensors& names, ClassifierHead& head) {
    if (!step) return step.error();
    head.steps.list.push_back(std::move(*step));
    for (const std::string_view name : {names.weight, names.bias})
      if (!name.empty()) head.tensors.emplace_back(name);
    return {};
  }

  // Some files have their heads inside the model.
  std::string tensor_name(const std::string& name) const {
    return checkpoint_.contains(name) || !checkpoint_.contains("model." + name) ? name
                                                                                : "model." + name;
  }

  const Checkpoint& checkpoint_;
};

Status read_steps_of(const HeadForm& form, const OpenedModel& model, ClassifierHead& head) {
  const HeadReader reader(model.checkpoint);
  const int d = model.config.d_model;
  if (*form.dense != '\0')
    if (Status status = reader.add_dense(form.dense, d, d, form.activation, head); !status)
      return status;
  if (*form.norm != '\0')
    if (Status status = reader.add_norm(form.norm, d, model.config.rms_eps, head); !status)
      return status;
  return reader.add_dense(form.last, d, static_cast<int>(head.labels.size()),
                          VectorActivation::kIdentity, head);
}

// ModernBERT says which rows its head reads, and its activation.
void read_modern(Fields& fields, HeadForm& form) {
  const std::string pooling = fields.string("classifier_pooling", "cls");
  if (pooling == "mean") form.pooling = Pooling::kMean;
  if (pooling != "mean" && pooling != "cls")
    fields.refuse("classifier_pooling", "\"cls\" or \"mean\"", ErrorCode::kUnsupported);
  const Result<VectorActivation> activation =
      activation_named(fields.string("classifier_activation", "gelu"));
  if (activation) form.activation = *activation;
  if (!activation) fields.fail(in_file(fields.source(), activation.error()));
}

Result<std::optional<ClassifierHead>> read_directory_head(const ModelPath& directory,
                                                          const OpenedModel& model) {
  const ModelPath path = directory / "config.json";
  const Result<Json> object = read_object_file(path);
  if (!object) return object.error();
  Fields fields(*object, path.string());
  std::vector<std::string> classes;
  fields.text_list("architectures", classes);
  const std::string_view name = classes.empty() ? "" : std::string_view(classes[0]);
  ClassifierHead head;
  head.of_tokens = name.ends_with(kOfTokens);
  if (!head.of_tokens && !name.ends_with(kOfTexts)) return std::optional<ClassifierHead>();
  const std::string_view suffix = head.of_tokens ? kOfTokens : kOfTexts;
  const std::string_view stem = name.substr(0, name.size() - suffix.size());
  HeadForm form = head.of_tokens ? form_of(kTokenHeads, stem) : form_of(kTextHeads, stem);
  if (stem == "ModernBert") read_modern(fields, form);
  head.pooling = head.of_tokens ? Pooling::kRows : form.pooling;
  head.labels = read_labels(fields);
  head.scale = head.of_tokens ? LabelScale::kSoftmax
                              : scale_of(fields.string("problem_type", ""), head.labels.size());
  head.pair_scale = read_pair_scale(fields, head.labels.size());
  if (!fields.status()) return fields.status().error();
  if (Status status = read_steps_of(form, model, head); !status) return status.error();
  return std::optional(std::move(head));
}

Result<std::optional<ClassifierHead>> read_gguf_head(const OpenedModel& model) {
  HeadForm form = kGgufHead;
  const HeadReader reader(model.checkpoint);
  if (!model.config.both_ways || !reader.has(form.last)) return std::optional<ClassifierHead>();
  if (!reader.has(form.dense)) form.dense = "";
  if (!reader.has(form.norm)) form.norm = "";
  if (*form.norm != '\0') form.activation = VectorActivation::kGelu;  // ModernBERT
  const GgufFile& gguf = model.checkpoint.gguf();
  const auto labels = gguf.strings(
      fmt::format("{}.classifier.output_labels", gguf_architecture_of(gguf, *model.config.family)));
  if (!labels) return labels.error();
  ClassifierHead head;
  if (*labels) head.labels.assign((**labels).begin(), (**labels).end());
  if (head.labels.empty()) head.labels = {"LABEL_0"};
  head.scale = scale_of("", head.labels.size());
  if (head.labels.size() > 1) head.pair_scale = LabelScale::kNone;
  if (Status status = read_steps_of(form, model, head); !status) return status.error();
  return std::optional(std::move(head));
}

}  // namespace

Result<std::optional<ClassifierHead>> read_classifier_head(const ModelPath& path,
                                                           const OpenedModel& model) {
  return model.checkpoint.is_one_gguf() ? read_gguf_head(model) : read_directory_head(path, model);
}

}  // namespace pando::model
