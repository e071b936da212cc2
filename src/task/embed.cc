#include "pando/embed.h"

#include <algorithm>
#include <cmath>

#include "base/errors.h"
#include "task/fill_in.h"

namespace pando {

std::string EmbedOptions::default_prompt_template() {
  return "Instruct: {instruction}\nQuery:{text}";
}

namespace {

bool has(const std::string& prompt_template, const char* field) {
  return prompt_template.find(field) != std::string::npos;
}

}  // namespace

Request embed_request(const EmbedOptions& options, std::string_view text) {
  Request request;
  request.pooling = options.pooling;
  const bool as_it_is =
      options.instruction.empty() && has(options.prompt_template, "{instruction}");
  request.prompt = as_it_is ? std::string(text)
                            : fill_in(options.prompt_template,
                                      {{"{instruction}", options.instruction}, {"{text}", text}});
  return request;
}

std::vector<float> embedding_of(const Completion& completion, const EmbedOptions& options) {
  std::vector<float> values = completion.embedding;
  if (options.dimensions > 0)
    values.resize(std::min(values.size(), static_cast<size_t>(options.dimensions)));
  if (!options.normalise) return values;
  double sum = 0;
  for (const float value : values) sum += double{value} * value;
  const double length = std::sqrt(sum);
  if (length > 0)
    for (float& value : values) value = static_cast<float>(value / length);
  return values;
}

Status check_embed_options(const EmbedOptions& options, int d_model) {
  if (options.pooling == Pooling::kNone)
    return invalid_argument("pooling is none, expected last or mean");
  if (options.dimensions < 0 || options.dimensions > d_model)
    return invalid_argument("dimensions is {}, expected at most the model's {}, or 0 for all",
                            options.dimensions, d_model);
  const bool needs_instruction = !options.instruction.empty();
  if (!has(options.prompt_template, "{text}") ||
      (needs_instruction && !has(options.prompt_template, "{instruction}")))
    return invalid_argument("the template is '{}', expected {}{{text}} in it",
                            options.prompt_template, needs_instruction ? "{instruction} and " : "");
  return {};
}

Result<std::vector<std::vector<float>>> embed(Engine& engine, const std::vector<std::string>& texts,
                                              const EmbedOptions& options) {
  if (Status status = check_embed_options(options, engine.model().info().d_model); !status)
    return status.error();
  std::vector<Request> requests;
  for (const std::string& text : texts) requests.push_back(embed_request(options, text));
  const auto completions = engine.complete_all(std::move(requests));
  if (!completions) return completions.error();
  std::vector<std::vector<float>> vectors;
  for (const std::vector<Completion>& completion : *completions)
    vectors.push_back(embedding_of(completion[0], options));
  return vectors;
}

}  // namespace pando
