#include "pando/classify.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "api/model_access.h"
#include "base/errors.h"
#include "task/encode_pair.h"

namespace pando {
namespace {

LabelScores scores_of(const ClassifyOptions& options) {
  if (options.scores != LabelScores::kAsModel) return options.scores;
  switch (options.head->scale) {
    case model::LabelScale::kNone:
      return LabelScores::kLogits;
    case model::LabelScale::kSigmoid:
      return LabelScores::kSigmoid;
    case model::LabelScale::kSoftmax:
      return LabelScores::kSoftmax;
  }
  return LabelScores::kLogits;
}

}  // namespace

Result<ClassifyOptions> classify_options_for(const Model& model, ClassifyOptions options) {
  const Result<std::optional<model::ClassifierHead>>& head = classifier_head_of(model);
  if (!head) return head.error();
  if (!*head)
    return unsupported(
        "the model is no classifier, expected one whose class is *ForSequenceClassification or "
        "*ForTokenClassification");
  // The head lives as long as the model, which the caller holds.
  options.head = std::shared_ptr<const model::ClassifierHead>(std::shared_ptr<void>(), &**head);
  options.max_tokens = most_pair_tokens(model, options.max_tokens);
  if (model.has_tokenizer() && !options.cut_at_end)
    options.cut_at_end = tokenizer_of(model)->limit().at_end.value_or(true);
  return options;
}

bool labels_tokens(const ClassifyOptions& options) { return options.head->of_tokens; }

Result<Request> classify_request(const Model& model, const ClassifyOptions& options,
                                 std::string_view text, std::optional<std::string_view> second) {
  if (second && labels_tokens(options))
    return unsupported("the model labels tokens, expected one text instead of a pair");
  Result<Request> request = encoded_request(
      model, text, second,
      {.most_tokens = options.max_tokens, .at_end = options.cut_at_end.value_or(true)});
  if (request) request->pooling = options.head->pooling;
  return request;
}

std::vector<float> label_logits(const Completion& completion, const ClassifyOptions& options) {
  return options.head->steps.apply(completion.embedding);
}

std::vector<double> scaled_logits(std::span<const float> logits, LabelScores scores) {
  std::vector<double> values(logits.begin(), logits.end());
  if (scores == LabelScores::kSigmoid)
    for (double& value : values) value = 1 / (1 + std::exp(-value));
  if (scores != LabelScores::kSoftmax || values.empty()) return values;
  const double most = *std::ranges::max_element(values);
  double sum = 0;
  for (double& value : values) {
    value = std::exp(value - most);
    sum += value;
  }
  for (double& value : values) value /= sum;
  return values;
}

std::vector<double> label_values(const Completion& completion, const ClassifyOptions& options) {
  return scaled_logits(label_logits(completion, options), scores_of(options));
}

std::vector<LabelScore> labels_of(const Completion& completion, const ClassifyOptions& options) {
  const std::vector<double> scores = label_values(completion, options);
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  if (options.top > 0) order.resize(std::min(order.size(), static_cast<size_t>(options.top)));
  std::vector<LabelScore> labels;
  for (const size_t i : order) labels.push_back({options.head->labels[i], scores[i]});
  return labels;
}

Result<std::vector<std::vector<LabelScore>>> classify(Engine& engine,
                                                      const std::vector<std::string>& texts,
                                                      const ClassifyOptions& options) {
  const Result<ClassifyOptions> all = classify_options_for(engine.model(), options);
  if (!all) return all.error();
  if (labels_tokens(*all)) return unsupported("the model labels tokens, expected one of texts");
  std::vector<Request> requests;
  for (const std::string& text : texts) {
    Result<Request> request = classify_request(engine.model(), *all, text);
    if (!request) return request.error();
    requests.push_back(std::move(*request));
  }
  const auto completions = engine.complete_all(std::move(requests));
  if (!completions) return completions.error();
  std::vector<std::vector<LabelScore>> labels;
  for (const std::vector<Completion>& completion : *completions)
    labels.push_back(labels_of(completion[0], *all));
  return labels;
}

}  // namespace pando
