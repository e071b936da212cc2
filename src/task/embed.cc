#include "pando/embed.h"

#include <algorithm>
#include <cmath>

#include "base/errors.h"
#include "api/model_parts.h"
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

Result<EmbedOptions> embed_options_for(const Model& model, EmbedOptions options) {
  if (Status status = check_embed_options(options, model.parts().weights.config.d_model); !status)
    return status.error();
  const bool is_open = options.pooling == Pooling::kNone || !options.normalise || !options.prompt;
  if (!is_open) return options;
  const Result<model::EmbeddingForm>& form = model.parts().embedding;
  if (!form) return form.error();
  if (options.pooling == Pooling::kNone)
    options.pooling = form->pooling == Pooling::kNone ? Pooling::kLast : form->pooling;
  if (!options.normalise) options.normalise = form->normalise;
  if (!options.prompt) options.prompt = form->prompt;
  options.prompts = form->prompts;
  return options;
}

Request embed_request(const EmbedOptions& options, std::string_view text) {
  Request request;
  request.pooling = options.pooling == Pooling::kNone ? Pooling::kLast : options.pooling;
  const bool as_it_is =
      options.instruction.empty() && has(options.prompt_template, "{instruction}");
  request.prompt = as_it_is ? options.prompt.value_or("").append(text)
                            : fill_in(options.prompt_template,
                                      {{"{instruction}", options.instruction}, {"{text}", text}});
  return request;
}

std::vector<float> embedding_of(const Completion& completion, const EmbedOptions& options) {
  std::vector<float> values = completion.embedding;
  if (options.dimensions > 0)
    values.resize(std::min(values.size(), static_cast<size_t>(options.dimensions)));
  if (!options.normalise.value_or(true)) return values;
  double sum = 0;
  for (const float value : values) sum += double{value} * value;
  const double length = std::sqrt(sum);
  if (length > 0)
    for (float& value : values) value = static_cast<float>(value / length);
  return values;
}

Status check_embed_options(const EmbedOptions& options, int d_model) {
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
  const Result<EmbedOptions> all = embed_options_for(engine.model(), options);
  if (!all) return all.error();
  std::vector<Request> requests;
  for (const std::string& text : texts) requests.push_back(embed_request(*all, text));
  const auto completions = engine.complete_all(std::move(requests));
  if (!completions) return completions.error();
  std::vector<std::vector<float>> vectors;
  for (const std::vector<Completion>& completion : *completions)
    vectors.push_back(embedding_of(completion[0], *all));
  return vectors;
}

}  // namespace pando
