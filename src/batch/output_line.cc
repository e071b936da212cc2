#include "batch/output_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "batch/asked.h"
#include "batch/line_head.h"
#include "batch/scoring.h"
#include "openai/logprobs.h"

namespace pando {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson logprobs_json(const std::vector<TokenLogprob>& tokens) {
  OrderedJson list = OrderedJson::array();
  for (const TokenLogprob& token : tokens) list.push_back(openai::printed(token.logprob));
  return list;
}

// For each token, the likeliest ones in its place.
OrderedJson top_json(const std::vector<TokenLogprob>& tokens, const Model& model) {
  OrderedJson list = OrderedJson::array();
  for (const TokenLogprob& token : tokens) {
    OrderedJson places = OrderedJson::array();
    for (const auto& [id, logprob] : token.top) {
      OrderedJson place = {{"token", id}};
      if (const Result<std::string> text = model.decode(std::span(&id, 1)); text)
        place["text"] = *text;
      place["logprob"] = openai::printed(logprob);
      places.push_back(std::move(place));
    }
    list.push_back(std::move(places));
  }
  return list;
}

}  // namespace

OrderedJson output_object(const BatchLine& of, const BatchQuestion& question,
                          const Completion& completion, const Model& model) {
  const SamplingOptions& sampling = question.request.sampling;
  OrderedJson line;
  line["id"] = id_value(of.id_json);
  if (question.id) line["question_id"] = id_value(question.id_json);
  if (of.contexts.size() > 1) {
    line["part"] = question.part;
    line["parts"] = of.contexts.size();
  }
  if (sampling.n > 1) line["choice"] = completion.choice;
  if (!of.warning.empty()) line["wrong"] = of.warning;
  line["text"] = completion.text;
  if (!model.has_tokenizer()) line["tokens"] = completion.tokens;
  line["finish_reason"] = finish_reason_name(completion.finish_reason);
  line["prompt_tokens"] = completion.prompt_tokens;
  line["completion_tokens"] = completion.tokens.size();
  if (sampling.logprobs) {
    line["logprobs"] = logprobs_json(completion.logprobs);
    if (sampling.top_logprobs > 0) line["top_logprobs"] = top_json(completion.logprobs, model);
  }
  if (!completion.prompt_logprobs.empty()) {
    line["prompt_logprobs"] = logprobs_json(completion.prompt_logprobs);
    if (sampling.top_logprobs > 0)
      line["prompt_top_logprobs"] = top_json(completion.prompt_logprobs, model);
  }
  if (!completion.choice_logprobs.empty()) line["choice_logprobs"] = completion.choice_logprobs;
  if (question.request.logits_hash)
    line["logits_hash"] = fmt::format("{:016x}", completion.logits_hash);
  if (!question.metadata.empty()) line["metadata"] = question.metadata;
  return line;
}

std::string written(const OrderedJson& object) { return json_text(object); }

void add_fields(const ExtraFields& wanted, const BatchLine& line, const BatchQuestion& question,
                const Completion& completion, const Model& model, OrderedJson& object) {
  if (wanted.question && !line.contexts.empty()) object["question"] = question.text;
  if (wanted.answers && question.answers) object["answers"] = *question.answers;
  if (wanted.scores && question.answers) {
    const Metrics metrics = metrics_of(
        ScoredAnswer{.text = completion.text, .choice_logprobs = completion.choice_logprobs},
        question);
    object["exact_match"] = metrics.exact_match;
    object["token_f1"] = metrics.token_f1;
    object["rouge_l"] = metrics.rouge_l;
    if (!question.choices.empty()) {
      object["accuracy"] = metrics.choice_accuracy;
      object["accuracy_norm"] = metrics.choice_accuracy_norm;
    }
  }
  if (wanted.prompt)
    if (const Result<std::string> prompt = prompt_text(model, request_of(line, question)); prompt)
      object["prompt"] = *prompt;
}

Result<std::vector<nlohmann::json>> output_objects(std::string_view lines) {
  std::vector<nlohmann::json> objects;
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size() - 1);
    Result<nlohmann::json> line = parse_json_object(lines.substr(0, end), "an answer");
    if (!line) return line.error();
    objects.push_back(std::move(*line));
    lines.remove_prefix(end + 1);
  }
  return objects;
}

}  // namespace pando
